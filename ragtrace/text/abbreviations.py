"""Words that end in a full stop without ending a sentence, in the languages that write them."""


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


TITLES = _words(
    # Before a name: the sentence always goes on.
    "mr mrs ms dr prof rev hon gen col lt sgt capt cmdr maj adm sen rep gov pres supt messrs mme mlle st ste mt ft "
    "hr fr frau dipl ing geb hl h.c "
    "sr sra srta dra don dña sig dott avv акад проф доц им ул пер пл просп пр обл пос дер "
    "р-н св гр г-н г-жа тов инж"
)
BEFORE_NUMBERS = _words(
    # Only before a number, or a letter that counts.
    "no nos nr nrn fig figs eq eqs sec ch chap vol p pp pg art arts abb abs bd bde kap tab taf par sect app ex ver v "
    "bldg apt rm fl hwy rte rt hausnr pl ebd gg "
    "s z anm ziff rn núm pág págs vol fasc рис табл гл стр с разд п пп ст кн вып д кв корп оф пом №"
)
MONTHS = _words(
    # And week days: only beside numbers, since some are words of their own ("He sat.").
    "jan feb mar apr jun jul aug sep sept oct okt nov dec dez mon tue tues wed thu thur thurs fri sat sun mo di mi "
    "do sa janv févr avr juil août déc ene abr ago dic янв фев февр мар апр авг сен сент окт ноя нояб дек"
)
RUNNING = _words(
    # In the middle of a sentence.
    "e.g i.e eg ie cf viz vs v approx ca c.f al resp incl excl est ext tel prop pop dept univ assn bros gov "
    "gegr verh gest urspr sogen bzgl betr entspr zus zul ugs "
    "z.b d.h u.a d.i i.d.r u.u o.ä s.o s.u i.a m.e v.a z.t bspw bzw vgl evtl ggf inkl exkl zzgl abzgl ungef sog bes "
    "insb insbes max min mind ev allg dt engl frz lat gem lt jr-st jh jhd p.ex c.-à-d p.ej av bd env ca.n т.е т.н т.к "
    "тк напр см ср ред изд сокр англ нем фр лат рус яп кит греч сост род ум нач кон соотв прим ок "
    "bijv d.w.z o.a np tzn m.in tj"
)
CLOSING = _words(
    # May also close a sentence: then what follows starts like one.
    "etc inc ltd co corp llc plc bros ave blvd rd jr sr esq ph.d m.d b.a m.a b.sc m.sc a.m p.m u.s u.k u.n u.s.a e.u "
    "d.c a.d b.c hr hrs sec min mins ft in oz lb lbs "
    "tbsp tsp pt qt gal usw u.s.w etc.pp mio mrd tsd stck std sek gmbh v.chr n.chr d.j "
    "uds ud ee.uu ст.л л.с г гг в вв т.д т.п др н.э тыс млн млрд трлн руб коп чел долл ед экз мин сек ч кг км м см мм "
    "л шт проц т enz itp itd"
)
OPEN_ENDED = _words("л.с etc usw u.s.w т.д т.п др p.m a.m руб коп чел экз мин сек шт enz itd itp")
"""Of `CLOSING`, those that close one before any capital letter, names of days, titles and the like apart."""

STARTERS = _words(
    # Words that, capitalised after a full stop, begin a sentence rather than go on with a name.
    "the it this that these those he she they we you in on at as but and however then there if when while for his her "
    "its their our my an after before between by with from not no yes all some most many each both such since because "
    "although also although another one two what who where why how did does is are was were do can will please "
    "er sie es wir ihr der die das ein eine dieser diese dieses diesen dem den des in im am an auf aus bei mit nach "
    "von vor zu zum zur für und oder aber doch auch wenn als da dann dort hier so seit während nur sein seine ihre "
    "danach außerdem jedoch allerdings man kein keine nicht bitte "
    "она он они оно это этот эта эти во на но его её ее их мы вы по после до для также однако если когда там тогда "
    "всё все при так поэтому затем здесь из от за со тот та те не под об "
    "le la les un une il elle ils elles ce cette ces dans pour mais el los las en es una pero"
)
NO_SURNAMES = _words("it the this that these those they she we you there its our their")
"""Starters that no initial stands before."""
STARTERS_OF_ONE = _words("a i в и а с к о у я")
"""Starters of one letter: an initial looks the same, so a full stop behind them rules them out."""

DAYS_AND_ZONES = _words(
    "est edt cst cdt mst mdt pst pdt gmt utc cet eastern central pacific monday tuesday wednesday thursday friday "
    "saturday sunday january february march april june july august september october november december"
)
GERMAN_MONTHS = _words("januar jänner februar märz april mai juni juli august september oktober november dezember")
GERMAN_BEFORE_ORDINAL = _words(
    "am der die das den dem des im zum zur vom bis ab seit dieser dieses diese jeder jede jedes ein eine einen einem "
    "einer sein seine seinen seinem ihr ihre ihren ihrem beim ins ans"
)

ORDINAL_ARTICLES = _words("der die das dem des im zum zur vom beim ins")
"""Of these, those that are German in a text too short to tell its language."""

GERMAN_TITLES = _words("fa med jur phil rer nat oec pol")
"""Before a name, and words or names in other languages."""

KNOWN = TITLES | BEFORE_NUMBERS | MONTHS | RUNNING | CLOSING
