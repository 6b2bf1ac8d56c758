"""Tell statements from questions, refusals, greetings and headings."""

import re
from collections.abc import Sequence

from ragtrace.model import Sentence, SentenceKind
from ragtrace.text.refusals import is_refusal

_TRIM = " \t\r\n*_#>\"'“”„«»「」-–—•"
_HAS_CONTENT = re.compile(r"\w")
_QUESTION = re.compile(r"[?？؟][!！]?[\"”’»」』）)\]*_\s]*$|(?:です|ます|でしょう|ません|でした|ました)か。?$")
_LONGEST_GREETING = 160

_GREETINGS = (
    r"(?:hi|hello|hey|dear \w+|good (?:morning|afternoon|evening|day)|greetings|welcome|you['’]re welcome)",
    r"thanks?(?: you)?(?: (?:so|very) much)?(?: for [\w ]{1,40})?|no problem|sorry|(?:i|my|we) apologi\w+",
    r"sure(?: thing)?|of course|certainly|absolutely|(?:great|good|excellent) question",
    r"(?:i )?(?:do )?hope (?:this|that|it) (?:information )?helps?",
    r"let me know if [^.!?]{1,80}|feel free to [^.!?]{1,80}",
    r"(?:is there|can i help|would you like) [^.!?]{1,80}\?|if you (?:have|need) (?:any |further |more )[^.!?]{1,90}",
    r"here(?: is|['’]s| are) (?:the|your|an?|some) (?:answer|summary|overview|list|information|details?)[^.!?]{0,60}",
    r"(?:i['’]?m|i am|i['’]d be|i would be)?[^.!?]{0,12}(?:happy|glad) to help[^.!?]{0,40}",
    r"hallo|guten (?:tag|morgen|abend)|grüß gott|gerne?|natürlich|klar|selbstverständlich|danke(?: schön)?",
    r"vielen dank[^.!?]{0,40}|bitte(?: schön)?|ich hoffe,? (?:das|dies) hilft[^.!?]{0,40}|(?:viele|liebe) grüße",
    r"mit freundlichen grüßen|(?:bei|falls sie) (?:weiteren? |noch )?fragen[^.!?]{1,80}",
    r"здравствуйте|привет|добрый (?:день|вечер)|доброе утро|конечно|разумеется|спасибо(?: за [\w ]{1,40})?",
    r"пожалуйста|надеюсь,? (?:\w+ )?помо[а-я]*[^.!?]{0,30}|если у вас (?:есть|возникнут|остались) [^.!?]{1,80}",
    r"обращайтесь[^.!?]{0,40}|с уважением|рад(?:а|ы)? помочь[^.!?]{0,30}",
    r"你好|您好|大家好|早上好|好的|当然(?:可以)?|當然(?:可以)?|没问题|沒問題|(?:谢谢|謝謝|感谢)[^。！？]{0,12}|不客气",
    r"希望[^。！？]{0,16}(?:帮助|幫助|帮到您|帮到你)|如(?:果|有|您)[^。！？]{0,24}(?:随时|隨時|欢迎|联系我)[^。！？]{0,24}",
    r"こんにちは|こんばんは|おはようございます|(?:はい、?)?(?:承知|かしこまり|了解)[^。！？]{0,12}|もちろん(?:です)?",
    r"[^。！？]{0,16}ありがとうございます|お役に立て[^。！？]{0,16}|(?:他に)?ご(?:不明な?点|質問)[^。！？]{0,36}",
    r"bonjour|bonsoir|bien sûr|merci(?: beaucoup)?|avec plaisir|hola|buenos días|buenas tardes|claro|por supuesto",
    r"gracias|de nada|ciao|olá|obrigad[oa]|merhaba|مرحبا|안녕하세요|감사합니다|नमस्ते|สวัสดี\w*",
)
_DECORATION = r"[ ,，!！。.:：~～😊🙂👋🎉]*"
_GREETING = re.compile(
    rf"(?:{'|'.join(f'(?:{phrase})' for phrase in _GREETINGS)}){_DECORATION}"
    rf"(?:(?:there|everyone|all|zusammen){_DECORATION})?",
    re.IGNORECASE,
)
_ADVICE = re.compile(
    r"(?:please|kindly|(?:perhaps |maybe )?you (?:may|can|could|might|should)"
    r"(?: (?:also|always|want to|try to|need to))? (?:contact|consult|check|try|visit|ask|refer|find|look|see|reach"
    r"|search|call|e-?mail|write|provide|share|send|rephrase|review|read|get in touch|let)\b"
    r"|i (?:recommend|suggest|would)|try |consult|contact|check|for (?:more|further)|to (?:answer|find|get|learn)"
    r"|if you(?:['’]d| would)? (?:have|need|want|like|can|could|provide|share|give|tell|send|let|specify)\b"
    r"|could you|so,? i|without (?:more|further|additional|that|this|any|the)\b"
    r"|bitte|wenden|ich (?:empfehle|rate)|пожалуйста|обратитесь|рекоменду|уточните|попробуйте"
    r"|请|請|建议|建議|[您你]可以(?:尝试|联系|聯繫|查看|查阅|查閱|咨询|諮詢|访问|訪問|提供|参考|參考|拨打|再|试)|可以尝试"
    r"|申し訳|恐れ入り|詳しく|詳細|veuillez|por favor|le recomiendo)"
    r"|.*(?:ください|お勧めします|おすすめします)[。]?$",
    re.IGNORECASE,
)
_CONTRAST = re.compile(
    r"[,;:—–-]?\s+(?:but|however|yet|nevertheless|aber|jedoch|allerdings|doch|но|однако|зато|mais|pero)\b[,:]?\s*"
    r"|[，,、。]?(?:但是|不过|不過|然而|但(?!不)|ただし|しかし|(?<=[んいすた])が、)[，、,]?|;\s+|；",
    re.IGNORECASE,
)
_CONCESSION = re.compile(r"(?:while|although|though|obwohl|хотя|虽然|尽管)\s*([^,，、]{12,}?)[,，、]", re.IGNORECASE)
_NO_CLAIM = re.compile(
    r"i(?: have|['’]ve)? (?:looked|searched|checked|tried|hope|apologi\w+|could|would)\b"
    r"|i(?: am|['’]m) (?:sorry|happy|glad)\b|i can (?:help|look|search|try)\b"
    r"|ich (?:habe (?:gesucht|nachgesehen)|hoffe|bedauere)\b|я (?:искал|надеюсь|сожалею)"
    r"|すみません|恐れ入り|残念"
    r"|.*\b(?:may|might|could) (?:be|have been) (?:in|on|found|available|listed|mentioned|described|covered)\b",
    re.IGNORECASE,
)
_SHORTEST_CLAIM, _SHORTEST_WIDE = 12, 5


def sentence_kind(text: str, *, is_followed: bool) -> SentenceKind:
    """Return the kind of a sentence of running text; `is_followed` tells whether another one comes after it."""
    bare = text.strip(_TRIM)
    if not _HAS_CONTENT.search(bare):
        return "greeting"
    if len(bare) <= _LONGEST_GREETING and _GREETING.fullmatch(bare):
        return "greeting"
    if is_refusal(bare) and not _claims_beside(bare):
        return "refusal"
    if _QUESTION.search(text[-24:]):
        return "question"
    if is_followed and text.rstrip("*_ ").endswith((":", "：")):
        return "heading"
    return "statement"


def _claims_beside(sentence: str) -> bool:
    """Tell whether a sentence that refuses in one part states something in another: that must be judged."""
    conceded = _CONCESSION.match(sentence)
    parts = [conceded.group(1)] if conceded else _CONTRAST.split(sentence)
    return len(parts) + bool(conceded) > 1 and any(map(_is_claim, parts))


def _is_claim(part: str) -> bool:
    bare = part.strip(_TRIM)
    shortest = _SHORTEST_CLAIM if bare.isascii() or bare[:1] < "\u2e80" else _SHORTEST_WIDE
    return not (
        len(bare) < shortest
        or is_refusal(bare)
        or _ADVICE.match(bare)
        or _GREETING.fullmatch(bare)
        or _NO_CLAIM.match(bare)
    )


def declines(sentences: Sequence[Sentence]) -> bool:
    """Tell whether a text as a whole declines to answer: it refuses, and what else it says is advice."""
    if not any(sentence.kind == "refusal" for sentence in sentences):
        return False
    claiming = [sentence for sentence in sentences if sentence.kind in ("statement", "row", "code")]
    return all(_ADVICE.match(sentence.text.strip(_TRIM)) for sentence in claiming)
