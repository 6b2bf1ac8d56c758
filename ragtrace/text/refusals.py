"""Phrases by which an answer says that it does not know, in several languages."""

import re

_ANY = r"[^.!?\n]"
_WIDE_ANY = r"[^。！？\n]"
_APOSTROPHE_T = r"(?: not|n['’]?t)"

_SOURCE = (
    r"(?:contexts?|passages?|excerpts?|snippets?|search results|knowledge base|documents?|documentation|texts?"
    r"|sources?|articles?|information|(?:provided|given|available|retrieved|supplied|above) \w+"
    r"|\w+ (?:provided|supplied|given|available))"
)
_TELLS = (
    r"(?:contain|include|mention|provide|specify|say|state|give|cover|address|discuss|describe|answer|indicate|have"
    r"|offer|explain|list|reveal|tell|clarify|elaborate)"
)
_TOLD = (
    r"(?:mentioned|specified|stated|provided|given|included|found|available|contained|covered|addressed|answered"
    r"|disclosed|described|discussed|present)"
)
_ENGLISH = (
    rf"\bi (?:really |honestly |actually )?(?:do|did){_APOSTROPHE_T} (?:actually )?(?:know|have (?:any|enough"
    r"|sufficient|that|the|access|specific|information|details))",
    r"\bi(?: (?:cannot|can ?not|can['’]?t|could not|couldn['’]?t)|(?: am|['’]m| was) (?:unable|not able) to)"
    r" (?:answer|find|determine|provide|say|tell|confirm|help|assist|verify|locate|comply)",
    r"\bi(?: am|['’]m) (?:not (?:sure|certain)|unsure|afraid (?:i|that|the))\b",
    r"\bi have no (?:information|idea|data|knowledge)",
    rf"\b(?:the|this|these|my|your|our|no|neither|any|\w+ed) (?:\w+ )?{_SOURCE}\b{_ANY}{{0,80}}"
    rf"\b(?:do|does|did){_APOSTROPHE_T} (?:\w+ )?{_TELLS}\b",
    rf"\b{_SOURCE}\b{_ANY}{{0,40}}\b(?:lacks?|(?:is|are) (?:insufficient|not sufficient|silent)"
    r"|(?:contains?|ha(?:s|ve)|gives?|provides?|makes?|includes?) no (?:\w+ )?"
    r"(?:information|mention|details?|data|answer|reference))",
    rf"(?:\b(?:not|never|nowhere)|n['’]t) (?:\w+ )?{_TOLD} (?:\w+ )?(?:in|by|within|from) (?:\w+ ){{0,3}}{_SOURCE}\b",
    r"\bthere(?: is|['’]s| are| was) (?:no|not enough|insufficient|not any) (?:\w+ ){0,3}"
    r"(?:information|mention|details?|evidence|indication)\b",
    r"^(?:no|not enough|insufficient) (?:\w+ ){0,2}(?:information|data|details?|context|answer)\b"
    rf"{_ANY}{{0,40}}(?:available|provided|found|given|to answer|[.!]?$)",
    r"\b(?:cannot|can ?not|can['’]?t|could not|couldn['’]t) be (?:\w+ )?"
    r"(?:answered|determined|inferred|derived|established|concluded)\b",
    r"\banswer is not (?:in|given|provided|available|found|included|contained|mentioned)\b|^(?:sorry,? )?no idea[.!]?$",
    r"\bas an ai\b[^.!?\n]{0,60}\b(?:cannot|can['’]?t|am (?:unable|not able)|do(?: not|n['’]t) have)",
    r"\bunable to (?:answer|find|determine|provide|locate)\b|\banswer is (?:unknown|not known|unavailable)\b",
    r"^(?:unknown|unanswerable|n/a|not (?:mentioned|specified|known|available|given|stated|provided|answerable"
    r"|enough information))[.!]?$",
    r"\bbeyond (?:my|the) (?:knowledge|scope)",
)

_QUELLE = (
    r"(?:kontext\w*|texte?[sn]?|textstellen?|dokumente?[sn]?|passagen?|quellen?|unterlagen|informationen|ausz[uü]g\w*"
    r"|abschnitte?[sn]?|artikel[sn]?|wissensdatenbank)"
)
_ANGABEN = r"(?:informationen?|angaben?|hinweise?|antwort|auskunft|daten|details|aussagen?)"
_GERMAN = (
    r"\bweiß (?:ich )?(?:(?:es|das|leider) )*(?:ich )?(?:leider )?nicht\b(?! nur)|\bkeine ahnung\b",
    rf"\bich (?:kann|konnte|habe|bin|kenne)\b{_ANY}{{0,80}}\b(?:nicht (?:beantworten|sagen|finden|ermitteln"
    rf"|feststellen|weiterhelfen|sicher|in der lage|bekannt|angeben)|keine (?:\w+ )?{_ANGABEN})",
    rf"\b{_QUELLE}\b{_ANY}{{0,80}}\b(?:keine?(?:n|r|rlei)? (?:\w+ )?{_ANGABEN}|nicht (?:\w+ )?"
    r"(?:erwähnt|enthalten|angegeben|genannt|hervor|beantwort\w+|beschrieben|zu finden|entnehmen))",
    rf"\b(?:keine?|nicht genügend|nicht genug|unzureichende) (?:\w+ )?{_ANGABEN}\b{_ANY}{{0,60}}"
    r"\b(?:vor|vorhanden|verfügbar|gefunden|finden|enthalten|vorliegen|zu beantworten)\b",
    rf"\blässt sich {_ANY}{{0,60}}nicht (?:\w+ )?(?:beantworten|bestimmen|sagen|ermitteln|ableiten|entnehmen)",
    rf"\bliegen (?:\w+ ){{0,4}}keine (?:\w+ )?{_ANGABEN}|\b(?:das|dies|die antwort) ist (?:mir )?"
    r"(?:leider )?(?:nicht bekannt|unbekannt)\b|^unbekannt[.!]?$",
)

_ISTOCHNIK = (
    r"(?:контекст\w*|текст\w*|документ\w*|отрывк\w*|фрагмент\w*|источник\w*|материал\w*|информаци\w+|сведени\w+"
    r"|данны[ех]|стать[еия]\w*|базе знаний)"
)
_RUSSIAN = (
    r"\b(?:я )?(?:это(?:го)? )?(?:точно )?не знаю\b|\bмне (?:это )?(?:не ?известно)\b|^не ?известно[.!]?$",
    r"\b(?:не (?:могу|смог|смогла)|не удалось|не удаётся|не удается|затрудняюсь) (?:[\w-]+ ){0,5}"
    r"(?:ответить|ответ\w*|найти|определить|сказать|предоставить|помочь|подсказать|установить)",
    r"\bя не уверен\w*",
    rf"\b{_ISTOCHNIK}\b{_ANY}{{0,80}}\b"
    r"(?:нет(?: \w+){0,2} (?:информации|данных|сведений|ответа|упоминани\w+|указани\w+)"
    r"|не (?:\w+ )?(?:указ\w+|содерж\w+|упом\w+|говорится|сказано|найден\w*|привод\w+|сообща\w+|описан\w*|ясно"
    r"|следует|да[её]т|включа\w+|предостав\w+|хватает|раскры\w+|достаточно)|отсутству\w+|недостаточно)",
    r"\b(?:нет|недостаточно|отсутству[еюя]\w*) (?:\w+ ){0,2}(?:информаци[ия]|данны[ех]|сведени[йя])\b",
    r"\b(?:невозможно|нельзя) (?:\w+ ){0,4}(?:ответить|определить|установить|сказать)\b",
    r"\b(?:информации|данных|сведений|ответа) (?:\w+ ){0,6}(?:нет|недостаточно|не найдено|не хватает)\b",
)

_LAIYUAN = (
    r"(?:上下文|文中|文本|文档|文檔|文章|文件|资料|資料|段落|材料|信息|資訊|资讯|来源|來源|内容|內容|原文|知识库"
    r"|片段|参考|檢索|检索结果)"
)
_CHINESE = (
    rf"(?:我|本人|抱歉|对不起|對不起|遗憾|遺憾)[，,]?{_WIDE_ANY}{{0,10}}(?:不知道|不清楚|不了解|不瞭解|不太清楚"
    r"|不(?:能|太)?确定|不確定|(?:无法|無法|不能|没办法)(?:回答|确定|確定|得知|提供|判断|判斷|找到|给出)"
    r"|(?:没有|沒有|没|未能?)(?:足够|足夠|相关|相關|找到))",
    r"^(?:这个问题)?(?:我)?(?:也)?(?:不知道|不清楚|不确定|不確定|未知|不详|无法(?:回答|确定|得知|判断)|無法(?:回答|確定|得知|判斷))"
    rf"|^(?:根据|根據|从|從|依据|在){_WIDE_ANY}{{0,20}}(?:无法|無法|不能)(?:回答|确定|確定|得知|判断|判斷|找到|得出)",
    r"^(?:没有|沒有|暂无|暫無|无|無)(?:足够|足夠)?的?(?:相关|相關)?的?(?:信息|资料|資料|内容|內容|答案|資訊)",
    rf"{_LAIYUAN}{_WIDE_ANY}{{0,24}}(?:没有|沒有|并未|並未|并没|未|不)\w{{0,6}}(?:提供|提到|提及|包含|包括|说明"
    r"|說明|给出|給出|涉及|找到|记载|記載|描述|足够|足夠|足以|明确|明確|显示|指出|回答|介绍|介紹)",
    r"(?:无法|無法|不能|难以)(?:\w{0,12})?(?:回答|确定|確定|得知|判断|判斷|得出|推断)(?:\w{0,8})?(?:问题|問題|答案|结论)",
    r"(?:没有|沒有|未能?|缺乏|缺少|找不到)(?:\w{0,10})?(?:找到|足够|足夠|提供|提及|任何)?的?(?:相关|相關|足够|足夠"
    r"|具体)的?(?:信息|資訊|资料|資料|内容|內容)",
)

_BUNSHO = (
    r"(?:文脈|コンテキスト|文書|文章|資料|情報|本文|テキスト|パッセージ|文中|ドキュメント|記載|記述|言及|説明|回答"
    r"|検索結果|データ)"
)
_JAPANESE = (
    r"(?:わか|分か|判)(?:りません|りかねます|らない(?:です)?[。]?$|らないです)|存じ(?:ません|上げません)"
    r"|知りません|不明です|^(?:不明|わからない|分からない|知らない)[。]?$",
    r"(?:お答え|回答|判断|特定|確認|提供|お伝え|断定)(?:する|を(?:する|提供する))?(?:こと(?:は|が))?"
    r"(?:でき(?:ません|ない|かねます)|いたしかねます)|答えられません|答えることはできません",
    rf"{_BUNSHO}{_WIDE_ANY}{{0,30}}(?:ありません|ございません|見つかりません(?:でした)?|見当たりません"
    r"|(?:含まれ|書かれ|記載され|提供され|示され|述べられ|触れられ|言及され|明記され|説明され)て(?:は)?(?:い)?(?:ません|ない)"
    r"|(?:言及|記載|情報|記述|説明)(?:が|は)(?:ない|なく|存在しません)|不足して|不十分)",
)

_ROMANCE = (
    r"\bje ne (?:sais|connais|dispose|trouve|peux|suis) pas\b"
    rf"(?:[.!]?$|{_ANY}{{0,40}}(?:répondre|trouver|sûr|certain|informations?|la réponse))|^je ne sais pas\b",
    rf"\b(?:contexte|textes?|documents?|passages?|sources?)\b{_ANY}{{0,40}}\bne (?:\w+ )?"
    r"(?:contien\w+|mentionn\w+|fourni\w+|précis\w+|donn\w+|permet\w*|indiqu\w+) (?:pas|aucun)",
    r"\bno (?:lo )?sé\b(?: si)?|\bno (?:puedo|dispongo|tengo|encuentro|encontré|cuento)\b"
    rf"{_ANY}{{0,40}}(?:responder|información|respuesta|datos)",
    rf"\b(?:contexto|textos?|documentos?|pasajes?|fuentes?)\b{_ANY}{{0,40}}\bno (?:\w+ )?"
    r"(?:contien\w+|menciona\w*|proporciona\w*|especifica\w*|indica\w*|incluye\w*|ofrece\w*)",
    r"\b(?:non lo so|não sei|bilmiyorum|ik weet het niet|nie wiem|jag vet inte)\b",
)
_OTHERS = (r"\b(?:لا أعرف|لا أعلم|मुझे नहीं पता)\b|모르겠|알 수 없|모릅니다|ไม่ทราบ|không biết",)


def _any_of(*phrases: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{phrase})" for phrase in phrases), re.IGNORECASE)


# What each script's phrases cannot do without, looked for in lower case, and the phrases: most sentences hold none, and
# are done with quickly. Each alternative begins with a letter of its own, so that the engine skips to the next of them.
_LATIN = (
    re.compile(
        r"n(?:['’]t\b|(?<=\bn)(?:o[nt]?|e|ever|owhere|/a|ão|ie|icht)\b)|d(?:oe?s?|i)d?nt\b"
        r"|(?:c(?:a|ould)|would|is|are|was|were)d?nt\b|cannot"
        r"|un(?:able|sure|answer|zureichend|bekannt|known)|insufficient|lack|silent|beyond|afraid|kein|bilmiyorum"
        r"|weet het|vet inte"
    ),
    _any_of(*_ENGLISH, *_GERMAN, *_ROMANCE),
)
_FOREIGN = (
    (re.compile("нет|не|отсутству|затрудня"), _any_of(*_RUSSIAN)),
    (re.compile("[不没沒未无無难缺找暂暫]|ません|ない|なく|かねます"), _any_of(*_CHINESE, *_JAPANESE)),
    (re.compile("لا|नहीं|모르|없|모릅|ไม่|không"), _any_of(*_OTHERS)),
)
_LONGEST = 400


def is_refusal(sentence: str) -> bool:
    """Tell whether a sentence says that its author cannot or will not answer from what is known."""
    if len(sentence) > _LONGEST:
        return False
    scripts, lowered = (_LATIN,) if sentence.isascii() else (_LATIN, *_FOREIGN), sentence.lower()
    return any(needed.search(lowered) and phrases.search(sentence) for needed, phrases in scripts)
