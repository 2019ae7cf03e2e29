"""How people correct an agent in other words than `wrong`, by kind and by language: lists, no code.

Each line is a regular expression over a message in small letters, with one blank between words.
What is said of the work in general (`in the future`, `use the skill`) is an order for a task as
often as a correction, so those lines want more than the phrase: a place or a word beside it.
"""

# These are words of other languages, to be read as they are.
# ruff: noqa: RUF001

# Where a sentence or a part of one may begin; a few polite words may come before the phrase.
_BEGIN = (
    r"(?:^|[.!?;:,\u2026\u2013\u2014\u3002\uff01\uff1f\uff0c\u3001\u060c\u061f\u0964-])\W{0,3}"
    r"(?:(?:please|pls|and|so|ok(?:ay)?|but|hey|bitte|und|also|aber|s'il te pla[iî]t|et|mais"
    r"|por favor|y|pero|e|ma|mas|per favore|alsjeblieft|en|maar|prosz[eę]|ale|sn[aä]lla|och|men"
    r"|l[uü]tfen|ve|ama|пожалуйста|и|но|а|من فضلك|و|कृपया|और|请|請|那|じゃあ|では)\b[\s,]{0,3}"
    r"){0,3}"
)
# The same, but not in the middle of a sentence.
_FIRST = r"(?:^|[.!?\u2026\u3002\uff01\uff1f\u061f\u0964]\s{0,2})\W{0,3}"
_ENDS = r"(?=\s{0,2}(?:[.!?;,)\u2013\u2014-]|$))"

# `Why did you not use it?`: asked of what the agent did, so there is a `you` or its ending in it.
WHY = (
    (
        r"\b(?:why|how come)\s(?:(?:did|do|have|are|were|would)(?:n'?t|\snot)\syou\b"
        r"|(?:did|do|have|are"
        r"|were)\syou\s(?:\w{1,12}\s)?not\b|you\s(?:did|do|have|are)(?:n'?t|\snot)\b)"
    ),
    (
        r"\b(?:warum|wieso|weshalb)\s(?:hast|nimmst|benutzt|verwendest|nutzt|machst|bist)\sdu\b"
        r"[^.!?]{0,60}\b(?:nicht|kein\w{0,2}|nie)\b"
    ),
    (
        r"\bpourquoi\s(?:tu\s|vous\s)?(?:n'(?:as|avez|utilises|utilisez)|ne\s\w{1,12}|t'as|tu\sas)"
        r"[^.!?]{0,20}\s?pas\b"
    ),
    (
        r"\bpor\squ[eé]\sno\s(?:lo\s|la\s)?(?:has|hab[eé]is|us(?:as|aste|ó)|utiliz(?:as|aste|ó)"
        r"|aplicaste|seguiste|hiciste|cogiste|tomaste)\b"
    ),
    r"\bperch[eéè]\snon\s(?:lo\s|la\s)?(?:l'?hai|hai|avete|usi|usavi|stai)\b",
    (
        r"\bpor\s?qu[eê]\s(?:voc[eê]\s|tu\s)?n[aã]o\s(?:us(?:ou|aste|a|as)|utiliz(?:ou|aste)|aplic(?:ou"
        r"|aste)|seguiu|fez|fizeste|pegou)\b"
    ),
    r"\bwaarom\s(?:heb|gebruik|gebruikte|deed|nam|pas)\s(?:je|jij|u)\b[^.!?]{0,60}\b(?:niet|geen)\b",
    r"\b(?:dlaczego|czemu)\snie\s(?:u[zż]y(?:[lł]|wasz)|skorzysta|zastosowa|wzi[aą]|zrobi[lł])",
    (
        r"\bvarf[oö]r\s(?:anv[aä]nde|anv[aä]nder|tog|f[oö]ljde|gjorde|har)\sdu\s[^.!?]{0,40}?"
        r"\b(?:inte|ingen|inget)\b"
    ),
    r"\b(?:neden|niye|ni[cç]in)\b[^.!?]{0,60}\w{2,20}(?:mad[ıi]n|medin|m[ıi]yorsun)\w{0,3}\b",
    r"\b(?:почему|отчего)\s(?:ты\s|вы\s|же\s){0,2}не\s(?:использ|примен|воспольз|взял|сделал|прочит)",
    r"(?:لماذا|ليش|ليه|لِمَ)\s(?:لم|ما|لا)\s(?:تستخدم|تستعمل|تطبق|تتبع|استخدمت|استعملت)",
    r"(?:तुमने|आपने|तूने)[^.!?।]{0,60}क्यों नहीं|क्यों नहीं[^.!?।]{0,20}किया",
    (
        r"(?:为什么|為什麼|为何|為何|干嘛)你?(?:没有?|沒有?)(?:去)?(?:使用|用|按|照|遵|调|調)"
        r"|你(?:为什么|為什麼|怎么|怎麼|干嘛)(?:没有?|沒有?|不)(?:使用|用|按|照|遵|调|調)"
        r"|怎[么麼](?:没有?|沒有?)(?:使用|用)"
    ),
    r"(?:なぜ|なんで|どうして)[^。！？]{0,40}(?:使わな|使ってな|使っていな|使いませんでした|使ってくれな)",
    r"왜[^.!?]{0,40}(?:안 (?:썼|쓰|사용)|쓰지 않|사용하지 않|사용 안)",
)

# `You should have used it`: with what was done left open, since `you should have access` is news.
SHOULD_HAVE = (
    (
        r"\byou\s(?:really\s)?(?:should|could|ought\sto|must)(?:n'?t)?(?:'ve|\shave|\sof)\s(?:(?:not|just"
        r"|rather|first|simply|been|\w{3,12}ly)\s){0,2}(?!(?:receiv|need|shar|requir)ed\b)(?:\w{2,15}ed"
        r"|done|taken|read|written|run|gone|made|kept|put|chosen|known|drawn|built|sent|set|been)\b"
    ),
    r"\byou\swere\ssupposed\sto\b",
    r"\b(?:du\sh[aä]e?ttest|h[aä]e?ttest\sdu)\b[^.!?]{0,90}\b(?:sollen|m[uü]e?ssen|k[oö]e?nnen)\b",
    r"\bdu\ssolltest\s(?:doch|eigentlich|aber)\b",
    (
        r"\b(?:tu\saurais|vous\sauriez|t'aurais)\s(?:\w{1,12}\s)?(?:d[uû]|pu)\b"
        r"|\bil\s(?:aurait\sfallu|fallait)\b"
    ),
    (
        r"\bdeber[ií]as?\shaber\b|\bdebiste(?:is)?\s(?:haber\b|\w{2,12}[aei]r\b)"
        r"|\bten[ií]as?\sque\shaber\b|\btendr[ií]as?\sque\shaber\b"
    ),
    r"\bavresti\s(?:\w{1,12}\s)?(?:dovuto|potuto)\b|\bdovevi\s(?:\w{1,12}\s)?\w{2,12}[aei]r[el]",
    (
        r"\b(?:dever?ias?|tinhas?\s(?:que|de))\ster\s(?:\w{1,10}\s)?(?:\w{2,12}[ai]do|feito|posto"
        r"|escrito|aberto|dito)\b"
    ),
    r"\b(?:je|u)\shad\b[^.!?]{0,80}\b(?:moeten|kunnen)\b",
    r"\bpowin(?:iene[sś]\sby[lł]|na[sś]\sby[lł]a)\b|\btrzeba\sby[lł]o\b|\bnale[zż]a[lł]o\b",
    r"\bdu\s(?:borde|skulle)\s(?:\w{1,12}\s)?ha\s(?!f[aå]tt\b|tillg)(?:\w{1,12}\s)?\w{2,15}t\b",
    r"\b\w{2,20}(?:mal[ıi]yd[ıi]n|meliydin)\w{0,3}\b|\w{3,20}(?:man|men)\s(?:gerekirdi|laz[ıi]md[ıi])",
    (
        r"(?<!мне )(?<!нам )(?<!ему )\b(?:надо|нужно|лучше)\sбыло\b(?!\sбы)|\bследовало\b"
        r"|\b(?:ты|вы)\sдолж(?:ен|на|ны)\sбыл"
    ),
    r"كان\s(?:عليك|يجب عليك|يجب أن|من المفروض|المفروض|ينبغي)",
    r"चाहिए (?:था|थी|थे)",
    (
        r"你(?:本来|本來|早就|明明)?(?:应该|應該|应当|應當|本该|本該|早该|早該)(?:先|要|直接)?"
        r"(?:使用|用|按|照|遵|填|调|調)"
    ),
    r"べき(?:だった|でした)|(?:すれ|使え|読め)ばよかった",
    r"(?:했|썼|읽었)어야",
)

# `Not like that`: at the beginning, where the same words are about something else further on.
NOT_SO = (
    _FIRST + r"not\slike\s(?:that|this)\b",
    _FIRST + r"so\s(?:aber\s|doch\s|bitte\s)?nicht" + _ENDS,
    _FIRST + r"(?:pas\scomme\s[cç]a|pas\sainsi|ce\sn'[eé]ta?is?t?\spas\s[cç]a)\b",
    _FIRST + r"(?:as[ií]\sno|no\s(?:es\s)?as[ií]|de\sesa\smanera\sno)" + _ENDS,
    _FIRST + r"(?:cos[iì]\sno|non\scos[iì]|non\s[eè]\s(?:quello|cos[iì]|ci[oò])\b)",
    _FIRST + r"(?:assim\sn[aã]o|n[aã]o\s[eé]\sassim|n[aã]o\sera\sisso)\b",
    _FIRST + r"(?:niet\szo|zo\sniet)" + _ENDS + r"|\bdat\sklopt\s(?:\w{1,10}\s)?niet\b"
    r"|\bdat\sis\s(?:\w{1,10}\s)?(?:fout|verkeerd|niet\swat)\b",
    _FIRST + r"(?:to\s)?nie\stak" + _ENDS + r"|\bto\s(?:jest\s)?(?:\w{1,10}\s)?(?:b[lł][eę]dne"
    r"|[zź]le)\b|\bto\snie\sto\b",
    _FIRST + r"inte\ss[aå]" + _ENDS + r"|\bdet\s(?:[aä]r|var|blev)\s(?:\w{1,10}\s)?fel" + _ENDS,
    _FIRST + r"(?:[oö]yle|b[oö]yle|bu|bu\s\w{2,12})\s(?:de[gğ]il|yanl[ıi][sş])\b",
    _FIRST + r"(?:нет\W{1,3})?(?:это\s)?не\s(?:то|так)" + _ENDS,
    r"(?:هذا|هذه|ذلك)\s(?:\w{1,10}\s)?(?:خطأ|خاطئ|غلط)|" + _FIRST + r"ليس\s(?:هكذا|هذا)",
    r"(?:यह|ये|वह)\s(?:\S{1,10}\s)?(?:गलत|ग़लत)|" + _FIRST + r"ऐस[ेा]\sनहीं",
    _FIRST + r"(?:不是这样|不是這樣|不是这个|不是這個|不要这样|不要這樣|别这样|別這樣)",
    _FIRST + r"(?:そう(?:じゃ|では)な|そうじゃありません|そうではありません|そういうことじゃ)",
    _FIRST + r"(?:그게 아니|그렇게 (?:말고|하지)|이게 아니)",
    # A plain no; a polite one takes back nothing.
    (
        r"^\W{0,5}(?:nee|nie|nej|nei|hay[ıi]r|yok|لا|كلا|नहीं)\s{0,2}[,.!;:،।\u2013\u2014-](?!\s?(?:dank"
        r"|bedankt|hoor|dzi[eę]k|tack|takk|te[sş]ekk[uü]r|sa[gğ]\s?ol|شكر|धन्यवाद|शुक्रिया|het\sis\sgoed"
        r"|laat\smaar|allt\s[aä]r|wszystko\sok))"
    ),
)

# `Next time`: when, what follows at once, and what may stand before it with the time at the end.
NEXT_TIME = (
    (
        r"(?:from\s(?:now|here)\son|next\stime|in\s(?:the\s)?future|going\sforward|henceforth)",
        (
            r"(?:always|never|please|use|do|don'?t|make\ssure|check|remember|fill|run|load|prefer|avoid"
            r"|only|just|stick|you\s(?:should|must))"
        ),
        r"(?:always|never|don'?t)",
    ),
    (
        (
            r"(?:in\szukunft|k[uü]nftig|zuk[uü]nftig|ab\s(?:jetzt|sofort)|von\snun\san|(?:das\s|beim\s)?"
            r"n[aä]chste[ns]?\smal)"
        ),
        (
            r"(?:immer|nie|niemals|bitte|nimm|benutze?|verwende|nutze?|mach|f[uü]lle?|nicht|nur|lieber"
            r"|solltest\sdu|musst\sdu|sollst\sdu)"
        ),
        r"(?:immer|nie|niemals)",
    ),
    (
        (
            r"(?:[aà]\sl'avenir|la\sprochaine\sfois|d[eé]sormais|dor[eé]navant|[aà]\spartir\sde"
            r"\smaintenant)"
        ),
        (
            r"(?:utilis\w{1,3}|toujours|jamais|fais|faites|prends|prenez|pense|n'\w{3,12}|ne\s\w{2,12}"
            r"|il\sfaut|[eé]vite\w?|remplis\w{0,4}|merci\sde)"
        ),
        r"(?:utilise\s)?(?:toujours|jamais)",
    ),
    (
        (
            r"(?:la\spr[oó]xima\s(?:vez)?|en\sel\sfuturo|en\sadelante|de\sahora\sen\sadelante|a\spartir"
            r"\sde\sahora)"
        ),
        (
            r"(?:us[ae]n?|utili[cz]\w{1,3}|siempre|nunca|no\s\w{2,12}|haz|recuerda|rellena|debes"
            r"|hay\sque)"
        ),
        r"(?:siempre|nunca)",
    ),
    (
        r"(?:la\sprossima\svolta|in\sfuturo|d'ora\sin\s(?:poi|avanti))",
        r"(?:us[ai]|utilizza|sempre|mai|non\s\w{2,12}|fai|ricorda\w{0,2}|compila|devi)",
        r"(?:usa\s)?(?:sempre|mai)",
    ),
    (
        (
            r"(?:da\spr[oó]xima\svez|na\spr[oó]xima(?:\svez)?|no\sfuturo|de\sagora\sem\sdiante"
            r"|daqui\sem\sdiante|a\spartir\sde\sagora)"
        ),
        r"(?:us[ae]|utili[zs]\w{1,2}|sempre|nunca|n[aã]o\s\w{2,12}|fa[cç]a|lembre|preencha)",
        r"(?:use\s)?(?:sempre|nunca)",
    ),
    (
        r"(?:de\s)?volgende\skeer|(?:in\s(?:de\s)?toekomst)|voortaan|vanaf\snu",
        r"(?:gebruik|altijd|nooit|graag|doe|niet|vul|maak|moet\sje)",
        r"(?:altijd|nooit)",
    ),
    (
        r"(?:nast[eę]pnym\srazem|w\sprzysz[lł]o[sś]ci|od\steraz|na\sprzysz[lł]o[sś][cć])",
        r"(?:u[zż]ywaj|u[zż]yj|zawsze|nigdy|nie\s\w{2,12}|r[oó]b|wype[lł]niaj|korzystaj|pami[eę]taj)",
        r"(?:zawsze|nigdy)",
    ),
    (
        r"(?:n[aä]sta\sg[aå]ng|i\sframtiden|fr[aå]n\s(?:och\smed\s)?nu|h[aä]danefter)",
        r"(?:anv[aä]nd|alltid|aldrig|g[oö]r|inte|fyll|ska\sdu|m[aå]ste\sdu)",
        r"(?:alltid|aldrig)",
    ),
    (
        r"(?:bir\sdahaki\s(?:sefere|sefer)|gelecek\ssefer|bundan\ss[oö]nra|bundan\sb[oö]yle)",
        r"(?:kullan|her\szaman|hep|asla|daima|\w{2,12}\skullan|yap\w{0,3})",
        r"(?:her\szaman|asla|hep)",
    ),
    (
        r"(?:в\sследующий\sраз|в\sбудущем|впредь|отныне|с\sэтого\sмомента|на\sбудущее)",
        (
            r"(?:использ\w{2,6}|всегда|никогда|не\s\w{3,14}|делай\w{0,2}|применяй\w{0,2}|бери|заполняй"
            r"\w{0,2}|нужно|надо)"
        ),
        r"(?:всегда|никогда)",
    ),
    (
        (
            r"(?:في\sالمرة\s(?:القادمة|المقبلة)|المرة\sالقادمة|من\sالآن\sفصاعدا\w?|مستقبلا\w?"
            r"|في\sالمستقبل)"
        ),
        r"(?:استخدم\w?|استعمل\w?|دائما\w?|لا\s\w{3,10}|قم|اعمل)",
        r"(?:دائما\w?|لا\s\w{3,10})",
    ),
)
NEXT_TIME_UNSPACED = (
    r"(?:अगली बार|आगे से|अब से|भविष्य में)[^.!?।]{0,60}(?:करना|करो|करें|कीजिए|हमेशा|मत |कभी)",
    _BEGIN + r"(?:以后|以後|下次|今后|今後|从现在(?:开始|起)"
    r"|從現在(?:開始|起))(?:请|請|都|一律|务必|記得|记得"
    r"|要|就|别|別|不要|必须|必須|总是|一定){0,3}(?:使用|用|按|照|先|要|填|别|別|不要|记得|記得|调|調)",
    (
        r"(?:次回(?:から|は)|今後は?|これから(?:は)?|次から(?:は)?)[^。！？]{0,40}(?:使って|してください|使うように"
        r"|するように|必ず|しないで)"
    ),
    (
        r"(?:다음(?:부터|번에|에)는?|앞으로는?|이제부터)[^.!?]{0,40}(?:써|쓰세요|사용"
        r"|해 ?주세요|해줘|하지 마|항상)"
    ),
)

# `Do not do that, do this instead`: one breath, from the beginning.
INSTEAD = (
    _BEGIN + r"(?:don'?t|do\snot|stop)\s[^.!?]{2,90}[;,.\u2013\u2014-]\s?[^.!?]{2,90}\binstead\b",
    r"^\W{0,3}(?:bitte\s)?(?:nicht|kein\w{0,2})\s[^.!?]{2,90}\b(?:sondern|stattdessen)\b",
    r"^\W{0,3}(?:ne\s|n')[^.!?]{2,60}\s?pas\b[^.!?]{2,90}\b(?:plut[oô]t|[aà]\sla\splace)\b",
    r"^\W{0,3}(?:por\sfavor,?\s)?no\s[^.!?]{2,90}\b(?:en\ssu\slugar|en\svez\sde\seso|m[aá]s\sbien)\b",
    r"^\W{0,3}(?:per\sfavore,?\s)?non\s[^.!?]{2,90}\b(?:invece|piuttosto)\b",
    r"^\W{0,3}(?:por\sfavor,?\s)?n[aã]o\s[^.!?]{2,90}\b(?:em\svez\sdisso|em\slugar\sdisso)\b",
    r"^\W{0,3}(?:niet|geen)\s[^.!?]{2,90}\b(?:in\splaats\sdaarvan|maar)\b",
    r"^\W{0,3}nie\s[^.!?]{2,90}\b(?:zamiast\stego|tylko)\b",
    r"^\W{0,3}[^.!?]{2,60}\binte\b[^.!?]{2,60}\bist[aä]llet\b",
    r"\b\w{2,20}m[ae]\s?[,;.][^.!?]{0,60}\b(?:bunun\syerine|onun\syerine)\b",
    r"^\W{0,3}не\s[^.!?]{2,90}\bвместо\sэтого\b|^\W{0,3}не\sнадо\s[^.!?]{2,60},\s(?:а\s)?лучше\b",
    r"^\W{0,3}لا\s[^.!?]{2,90}بدلا?\w?\s(?:من|عن)\sذلك",
    r"^\W{0,3}[^.!?।]{2,60}मत[^.!?।]{2,60}(?:इसके बजाय|बल्कि)",
    r"^\W{0,3}(?:请|請)?(?:不要|别|別)[^。！？]{1,40}(?:而是|改用|改成|要用)",
    r"^\W{0,3}[^。！？]{1,40}(?:ないで|じゃなくて)[^。！？]{0,5}(?:代わりに|ちゃんと)",
    r"^\W{0,3}[^.!?]{1,40}(?:하지 말고|말고) [^.!?]{1,40}(?:써|사용|해 ?줘|해 ?주세요)",
)

# What a skill is called, and what is done with one; in some languages the doing comes last.
SKILL = (
    r"(?:skill(?:s|en|et|i|a|ów|em)?\b|comp[eé]tence|habilidad|competenza|habilidade|vaardigheid"
    r"|umiej[eę]tno|f[aä]rdighet|beceri|yetene[gk]|скилл|навык|مهارة|المهارة|السكيل|स्किल|कौशल"
    r"|技能|スキル|스킬)"
)
USE = (
    r"(?:\b(?:use|using|used|load|follow|apply|take|call|try|run|read|look\sat|nimm|nehmen|genommen"
    r"|benutz\w{0,3}|benutzen|verwende\w{0,2}|verwendet|nutze?n?|utilise\w{0,2}|utiliser|prends"
    r"|prendre|emploie|usa|usar|use|usado|utiliza\w{0,2}|usare|utilizzare?|gebruik\w{0,2}"
    r"|u[zż]yj|u[zż]ywaj|u[zż]y[cć]|skorzystaj|anv[aä]nd\w{0,2}|kullan\w{0,8}|использ\w{2,8}"
    r"|примени\w{0,3}|возьми|воспольз\w{2,8}|استخدم\w?|تستخدم|استعمل)\b"
    r"|इस्तेमाल|उपयोग|प्रयोग|使用|用|使って|使い|使う|使わ|써|사용|쓰)"
)
# That it was there all along, or is meant for what was just done.
OF_BEFORE = (
    r"(?:\b(?:we|i|you)\s(?:already\s)?(?:have|made|wrote|gave)\b|\bthere(?:'s|\sis)\b|\binstead\b"
    r"|\bfor\s(?:this|that|it)(?=\s{0,2}(?:[.!?,;]|$|instead|kind))|\bdaf[uü]e?r\b|\bdazu\b|\bhierf[uü]r"
    r"|\bstattdessen\b|\bden\swir\b|\bpour\s(?:[cç]a|cela)\b|[aà]\sla\splace|qu'on\sa\b|que\snous"
    r"\savons|\bpara\s(?:eso|esto|isso|isto)\b|que\stenemos|que\stemos|en\ssu\slugar|\bper\squesto\b"
    r"|\binvece\b|che\sabbiamo|\bhiervoor\b|\bdaarvoor\b|die\swe\shebben|\bdo\stego\b|kt[oó]r[aey]\w?"
    r"\smamy|zamiast|\bf[oö]r\sdet(?:ta|\sh[aä]r)?\b|ist[aä]llet|som\svi\shar|\bbunun\si[cç]in\b"
    r"|yerine|для\sэтого|вместо|который\s(?:у\sнас|есть)|لذلك|لهذا|بدلا|इसके लिए|के बजाय"
    r"|我们有|我們有|代わりに"
    r"|そのための|それ用の|대신|그걸 위한)"
)
# `We have a skill for that`: said, not asked.
WE_HAVE = (
    (
        r"(?<!do )(?<!if )(?<!did )(?<!whether )\b(?:we|you|i)\s(?:already\s)?(?:have|had)\san?\s"
        r"(?:[\w-]{1,30}\s){0,2}skill\sfor\s(?:this|that|it|exactly)\b"
    ),
    (
        r"\bthere(?:'s|\sis|\swas)\s(?:already\s)?an?\s(?:[\w-]{1,30}\s){0,2}skill\sfor\s(?:this|that|it"
        r"|exactly)\b"
    ),
    r"\bwir\shaben\s(?:doch\s|daf[uü]r\s){0,2}einen\s(?:[\w-]{1,30}\s)?skill\b",
)
