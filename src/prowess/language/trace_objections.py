"""What a person types after a task: whether it objects to what the agent did.

Nobody presses a button for `that was wrong`; the next message has to tell. The next task often
speaks of errors too (`fix the tests that fail`), so most words count only at the beginning, after
what people say before they come to it, or of `that`, `it` and `you`, which is what was just done.
"""

import re

from prowess.language.corrections_part import rejection

# Who objects does so at once.
MOST_OBJECTION = 300

_FILLER = (
    r"(?:(?:h+m+|uh+|um+|oh|ah|wait|hey|hi|sorry|well|ok(?:ay)?|but|and|actually|please|pls|ugh+"
    r"|argh|wtf|dude|lol|so|then|now|just|again|unfortunately|yeah|yes|still|it'?s|that'?s|aber"
    r"|doch"
    r"|bitte|leider|mais|euh|pero|por favor|\u043d\u043e)\b[\s,.!?:;\u2026\u2013\u2014-]{0,5}){0,4}"
)
_WORSENED = (
    r"(?:\s(?:has|have|just|also|completely|totally|only|now)){0,2}\s(?:broke|broken|breaks|deleted"
    r"|ruined|destroyed|(?:makes?|made)\s(?:it|things|everything)\sworse|got\sworse|crashe?[sd]"
    r"|fail(?:s|ed)\b|hangs)"
)
_PRAISE = re.compile(
    r"\W{0,5}(?:(?:very|that(?:'s| is| was)|this(?:'s| is)|it(?:'s| is)|looks?|all|so|ok(?:ay)?"
    r"|yes|sehr|tr\u00e8s"
    r"|muy)[\s,]{1,3}){0,3}(?:great|perfect\w{0,2}|thanks?|thx|nice|good|awesome|excellent|cool"
    r"|lgtm|super|danke|merci"
    r"|gracias|parfait|genial|fine|fantastic|brilliant|well done|that works?|it works?|works?"
    r"|not bad|no problem"
    r"|no worries|no need|no thanks|no more|no further|prima|klasse|bien"
    r"|\u0441\u043f\u0430\u0441\u0438\u0431\u043e|\u5f88\u597d|\u8c22\u8c22|\u8b1d\u8b1d)\b"
)
_TURN = re.compile(
    r"\b(?:but|however|except|only that|aber|mais|pero|\u043d\u043e)\b|\u4f46|\u4e0d\u8fc7"
)
_CONDITION = re.compile(
    r"\b(?:if|when|whenever|why|which|that|until|unless|where|whether|make|so|once|because|wenn"
    r"|falls|quand|si|cuando)\s"
)

_BEGINS = re.compile(
    rf"\W{{0,9}}{_FILLER}(?:"
    r"no(?:pe|oo*)?(?:\s{0,3}[.!;:\u2013\u2014-]|\s{0,3}\Z|,(?!\s{0,3}(?:thanks?|thank you"
    r"|that'?s (?:all|it|fine|ok|good|enough)"
    r"|it'?s (?:fine|ok|good)|all good|looks good))"
    r"|\s(?:that|this|it|you|i|not|wrong|don'?t|please|wait|no)\b)"
    rf"|(?:that|which){_WORSENED}"
    r"|nah\b|stop(?:\s{0,3}(?:[,.!]|\Z)|\s(?:that|this|it|doing)\b)"
    r"|undo\b|revert\b|rollback\b|roll\s(?:\w{1,9}\s)?back\b|wrong\b|incorrect\b|bad\b|worse\b"
    r"|broken\b"
    r"|(?:please\s)?(?:try|do it|do that|do this|fix it)\sagain\b|retry\b|redo\b|start over\b"
    r"|once more\b|again\W{0,3}\Z"
    r"|(?:run\s|do\s)?git\s(?:checkout\s(?:\.|--|head)|restore\b|reset\b|revert\b|clean\b|stash\b)"
    r"|(?:not|doesn'?t|does not|didn'?t|did not|isn'?t|won'?t|can'?t)\s(?:(?:even|really|quite"
    r"|yet)\s)?"
    r"(?:work|fix|compile|build|run|help|pass|start|right|correct|good|done|there|it\b|what|how"
    r"|like|quite|true|happy)"
    r"|don'?t\s(?:do|change|touch|delete|remove)\s(?:that|this|it)\b"
    r"|(?:(?:i|we|i'm|we're|there'?s|is|am|get|gets|getting|got|see|seeing|have|having|the|this"
    r"|exact|exactly|still|now)\s){0,6}"
    r"same\s(?:old\s)?(?:error|issue|problem|bug|failure|exception|result|message|as before|again"
    r"|\Z)"
    r"|why\s(?:did|have|would|are)\syou\s(?:do|delet|remov|chang|touch|break|broke|overwr|revert"
    r"|drop|renam|ignor|skip|not\b|commit|push)"
    r"|what\s(?:the\s(?:hell|heck|fuck)|have you done|did you do)"
    r"|i\s(?:said|told you|meant|asked|did(?:n'?t| not) (?:ask|want|mean|say)|(?:never"
    r"|just) (?:said|asked|wanted))\b"
    r"|i\swanted\s(?!to\s(?:ask|know|thank))|restore\s(?:my|it|everything|the\s(?:file|old"
    r"|previous|original))"
    r"|(?:go|change it|switch|get it|bring it|bring that)\sback\b|bring back\b"
    r"|nein\b(?!\s{0,3},?\s{0,3}danke)|falsch\b|(?:mach\s.{0,20})?r\u00fcckg\u00e4ngig"
    r"|zur\u00fcck(?:setzen|nehmen)|nochmal\W{0,3}\Z|noch (?:ein)?mal\W{0,3}\Z|versuch"
    r"|non\s{0,3}(?:[,.!;:](?!\s?merci)|\Z)|annule|faux\b|r\u00e9essa|recommence"
    r"|deshaz|revierte|incorrecto|int\u00e9nta|otra vez\W{0,3}\Z|n\u00e3o\s{0,3}(?:[,.!]|\Z)"
    r"|desfa[zc]|annulla|sbagliato"
    r"|\u043d\u0435\u0442\b|\u043d\u0435\u0432\u0435\u0440\u043d\u043e"
    r"|\u043d\u0435\u043f\u0440\u0430\u0432\u0438\u043b\u044c\u043d\u043e"
    r"|\u043e\u0442\u043c\u0435\u043d\u0438|\u043e\u0442\u043a\u0430\u0442\u0438"
    r"|\u0432\u0435\u0440\u043d\u0438|\u043f\u043e\u043f\u0440\u043e\u0431\u0443\u0439"
    r"|\u043d\u0435 \u0442\u043e\b|\u043d\u0435 \u0442\u0430\u043a\b"
    r"|\u4e0d\u5bf9|\u4e0d\u5c0d|\u9519|\u932f|\u64a4\u9500|\u64a4\u92b7|\u56de\u6eda|\u56de\u6efe"
    r"|\u4e0d\u884c|\u6ca1\u7528|\u6c92\u7528|\u91cd\u6765|\u91cd\u65b0\u6765|\u91cd\u65b0\u505a"
    r"|\u518d\u8bd5|\u518d\u8a66|\u6062\u590d|\u8fd8\u539f|\u9084\u539f|\u62a5\u9519|\u5831\u932f"
    r"|\u8fdd\u53cd|\u4e0d\u8981\u8fd9|\u522b\u8fd9"
    r"|\u9055\u3044|\u9055\u3046|\u3061\u304c|\u3084\u308a\u76f4|\uc544\ub2c8|\ud2c0\ub838"
    r")"
)
_ANYWHERE = re.compile(
    r"not\swhat\si\s(?:asked|wanted|meant|said|need)"
    r"|(?<!what )(?<!which )(?<!how )(?<!everything )\byou(?:'ve|\shave|\sjust|\salso"
    r"|\saccidentally|\scompletely){0,3}\s"
    r"(?:broke|deleted|overwrote|wiped|lost|destroyed|ruined|messed|erased|ignored|forgot|missed"
    r"|misunderstood|hallucinated"
    r"|screwed|did(?:n'?t| not)|haven'?t|have not|removed\s(?:my|the wrong|too|everything)"
    r"|changed\s(?:the wrong|too|everything))"
    r"|\b(?:undo|revert|discard)\s(?:that|this|it|your|all|everything|the\slast)\b"
    rf"|\b(?:this|it|your\s\w{{1,20}}|(?<=[.,!;:] )that){_WORSENED}"
    r"|\b(?:that|this|it)(?:\s(?:does|did|is|was|has|will|would))?(?:n'?t|\snot)\s(?:(?:even"
    r"|really|actually|quite|help to)\s){0,2}"
    r"(?:work|fix|help|solve|do\s|change|compile|build|run|pass|right|correct|what|how|it\b|good"
    r"|true|ok|working|fixed|the\s(?:right|correct|file|one))"
    r"|\b(?:that|this|it)(?:'s|\sis|\swas)\s(?:(?:all|totally|completely|even|still|just"
    r"|not)\s){0,2}(?:wrong|incorrect|right there|broken|worse|right\b(?<=not right)"
    r"|correct\b(?<=not correct)|what\b(?<=not what)|it\b(?<=not it)|working\b(?<=not working))"
    r"|\b(?:does|did|is|do)(?:n'?t|\snot)\swork|\bnothing\sworks|\bworks?\sno\slonger"
    r"|\bstill\s(?:fail|broken|wrong|not\s|does|isn'?t|doesn'?t|can'?t|won'?t|crash|red\b|throw"
    r"|hang|the\ssame|happen|there\b|no\s"
    r"|(?:gett?ing|gets?|see(?:ing)?|hav(?:e|ing)|shows?|gives?)\s(?:an?|the|this|that|same|error)"
    r"|(?:an?\s)?(?:\w{1,15}\s)?(?:error|problem|issue|bug)s?\b)"
    r"|\b(?:put|get|bring|change)\s(?:it|that|everything)\sback\b"
    r"|\bgo back to\s(?:the\s)?(?:previous|old|original|before)"
    r"|\b(?:das|es)\sist\s(?:\w{1,20}\s){0,2}(?:falsch|kaputt|nicht\s(?:richtig|korrekt|was|das))"
    r"|\bstimmt\s(?:\w{1,20}\s)?nicht"
    r"|\b(?:geht|funktioniert|klappt|l\u00e4uft)\s(?:\w{1,20}\s){0,3}nicht\b(?! mehr lange)"
    r"|\bimmer noch\s(?:\w{1,20}\s){0,2}(?:fehler|nicht|kaputt|falsch)"
    r"|\b(?:gleiche|selbe|derselbe)[rn]?\sfehler|\bdu hast\b.{0,60}\b(?:gel\u00f6scht|kaputt"
    r"|zerst\u00f6rt|vergessen)|\bnicht das,? was ich"
    r"|\bc'est\s(?:\w{1,20}\s){0,2}(?:faux|incorrect|cass\u00e9|pas\s(?:\u00e7a|bon|correct|juste"
    r"|ce que))|\bne\s(?:marche|fonctionne)(?:nt)?\s(?:\w{1,20}\s){0,2}pas"
    r"|\bm\u00eame erreur|\btu as\s(?:tout\s)?(?:cass\u00e9|supprim\u00e9|effac\u00e9)"
    r"|\bce n'est pas ce que|\btoujours\s(?:l'|une|la|en)\s?(?:m\u00eame\s)?erreur"
    r"|\bno\sfunciona|\best\u00e1\s(?:mal|roto)\b|\beso no es|\bno es lo que|\bmismo error"
    r"|\bsigue\s(?:fallando|sin\s|dando|igual)|\b(?:todav\u00eda|a\u00fan)\sfalla|\bhas\s(?:roto"
    r"|borrado)"
    r"|\bn\u00e3o\sfunciona|\bmesmo erro|\bnon\sfunziona|\bstesso errore"
    r"|\u043d\u0435\s\u0440\u0430\u0431\u043e\u0442\u0430|\u0441\u043b\u043e\u043c\u0430\u043b"
    r"|\u0442\u0430 \u0436\u0435 \u043e\u0448\u0438\u0431\u043a"
    r"|\u043e\u043f\u044f\u0442\u044c \u043e\u0448\u0438\u0431"
    r"|\u043f\u043e-\u043f\u0440\u0435\u0436\u043d\u0435\u043c\u0443"
    r"|\u0432\u0441[\u0435\u0451] (?:\u0435\u0449[\u0435\u0451]|\u0440\u0430\u0432\u043d\u043e)"
    r"|(?:\u8fd8\u662f|\u9084\u662f|\u4ecd\u7136|\u4f9d\u7136)(?:\u4e0d|\u62a5|\u5831|\u5931"
    r"|\u9519|\u932f|\u6709)|\u4e0d\u662f\u6211|(?:\u641e|\u5f04)\u574f|\u5220(?:\u4e86"
    r"|\u6389)\u6211|\u540c\u6837\u7684(?:\u9519|\u95ee)|\u4e0d\u5de5\u4f5c"
    r"|\u4e0d\u8d77\u4f5c\u7528|\u6ca1\u6709\u7528"
    r"|\u52d5\u304b\u306a\u3044|\u52d5\u304d\u307e\u305b\u3093|\u5143\u306b\u623b|\u9593\u9055"
    r"|\uc791\ub3d9\ud558\uc9c0 \uc54a|\ub418\ub3cc\ub824|\uc548 (?:\ub3fc|\ub418)"
)
# Said of what is there now; the next task says `if` or `which` before it.
_FAILS = re.compile(
    r"\b(?:(?:all|some|the|my|our|more)\s){0,2}(?:tests?|build|ci|pipeline|lint\w{0,3}|compilation"
    r"|app|page|server|site|everything)\s"
    r"(?:(?:is|are|all|now|just|keeps?|also|still)\s){0,3}(?:fails?|failing|failed|broke(?:n)?"
    r"|crash\w{0,3}|red)\b"
    r"|\b(?:now|i|we)(?:'m|'re|\sam|\sare)?\s(?:now\s)?(?:get|got|see|getting|seeing)\s(?:an?|this"
    r"|the|another|these)\s(?:\w{1,15}\s){0,2}"
    r"(?:errors?|exception|traceback|crash|failure)"
)


def objects(message: str) -> bool:
    """Return whether a message rejects what was done before it, instead of asking for more."""
    text = " ".join(message[:MOST_OBJECTION].lower().replace("\u2019", "'").split())
    if _PRAISE.match(text):
        turn = _TURN.search(text)
        if turn is None:
            return False
        text = text[turn.end() :]
    if _BEGINS.match(text) or _ANYWHERE.search(text) or rejection(text) is not None:
        return True
    fails = _FAILS.search(text)
    return fails is not None and _CONDITION.search(text[: fails.start()]) is None
