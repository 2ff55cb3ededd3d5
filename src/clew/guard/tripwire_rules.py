"""What the tripwire looks for, as data. `tripwire.py` reads the text: lower case, single spaces, without accents.

Every repetition is bounded and none contains another without a separator, so each pattern takes linear time.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Rule(NamedTuple):
    """One of `words` and one of `also` are in all that the pattern can match: most texts cost a look for words."""

    reason: str
    words: tuple[str, ...]
    also: tuple[str, ...]
    pattern: re.Pattern[str]


def _rule(reason: str, words: str, *patterns: str, also: str = "") -> Rule:
    return Rule(reason, tuple(words.split("|")), tuple(also.split("|")), re.compile("|".join(patterns)))


_WORD = r"(?:\w{1,20} )?"
_WORDS = r"(?:\w{1,12} ){0,4}"
_ANY = "(?:all |any |every |each |the |your |my |of |these |those |everything |and |or ){0,4}"
_OLD = (
    "(?:previous|prior|above|earlier|preceding|foregoing|existing|original|initial|system|other|old|safety|current)"
)
_ORDERS = (
    "(?:instructions?|prompts?|directions?|directives?|commands?|guidelines?|orders|rules|messages?|programming|"
    "constraints|restrictions|training)"
)
_ORDER_WORDS = (
    "instruc|prompt|direct|command|guideline|order|rule|message|programming|constraint|restriction|training"
)
_AGENT = "(?:ai|llm|agents?|assistants?|claude|chatgpt|gpt|copilot|gemini|cursor|codex|language model|chatbot)"
_HUMAN = "(?:users?|humans?|operators?|developers?|owners?|anyone|people)"
_FREE = "(?:unrestricted|unfiltered|uncensored|jailbroken|evil|malicious)"
_FILES = r"(?:\.env\b|id_rsa|id_ed25519|\.ssh\b|\.aws\b|\.npmrc|\.netrc|credentials|/etc/passwd|/etc/shadow)"
_SENSITIVE = (
    rf"(?:{_FILES}|secrets?\b|api[ _-]?keys?\b|access[ _-]?keys?\b|tokens?\b|passwords?\b|private[ _-]keys?\b|"
    r"ssh[ _-]keys?\b|environment variables?|env vars?|system prompt|conversation|chat history|cookies?\b|"
    r"session data|source code|contents? of|the output)"
)
_PLACE = r"(?:https?://|ftp://|wss?://|[\w.+-]{1,64}@[\w-]{1,64}\.|webhook|\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})"
# Told by someone who describes or forbids it: a note.
_TOLD = r"(?<!we )(?<!they )(?<!not )(?<!n't )(?<!never )(?<!to )(?<!clients )(?<!services )(?<!cannot )(?<!which )"
_LEAKS = "(?:send|post|upload|exfiltrate|leak|forward|transmit|e-?mail|mail|submit|publish|copy)"
_CLIENT = r"(?:curl|wget|nc|netcat|invoke-webrequest)"

_OVERRIDES = (
    _rule(
        "override", "ignore|disregard|forget|override|bypass|neglect|discard|overrule",
        rf"\b(?:ignore|disregard|forget|override|bypass|neglect|discard|overrule)s? {_ANY}{_OLD}(?: and previous)? "
        rf"{_ANY}{_WORD}{_ORDERS}\b",
        rf"\b(?:ignore|disregard|forget) {_ANY}(?:{_ORDERS}|context|text|content) "
        r"(?:above|before|so far|given|you (?:were|have been|received|got))\b",
        rf"\boverrides? (?:all|any|every)(?: of)?(?: the| your)? {_WORD}(?:instructions|rules|prompts|"
        rf"guidelines)\b",
        rf"(?:ignore|disregard|forget)(?:all|any|the|your){{0,3}}{_OLD}(?:instruction|prompt|rule|message)",
        also=f"{_ORDER_WORDS}|context|text|content",
    ),
    _rule(
        "override", "ignore every|ignore any|ignore all|ignore what|disregard every|disregard any|disregard all|"
        "disregard what|forget every|forget any|forget all|forget what",
        r"\b(?:ignore|disregard|forget) (?:everything|anything|all|whatever) (?:(?:that )?(?:is |was )?"
        r"(?:above|before this|said|written|up to|prior)|you (?:were|have|know|learn))",
    ),
    _rule(
        "override", "precedence over|priority over",
        r"\b(?:precedence|priority) over (?:all |any |your |every |the ){0,2}"
        r"(?:other |previous |prior |system |earlier )(?:instructions|rules|prompts|guidelines)",
    ),
    _rule(
        "override", " override",
        r"\b(?:system|admin|administrator|root|developer|security) override\b ?[:!.-]",
    ),
    _rule(
        "override", "instructions|instruction:|directive|prompt|orders",
        r"\b(?:new|updated|revised|real|actual|secret|hidden|urgent) (?:system )?"
        r"(?:instructions?|directives?|prompt|orders) ?(?:for you ?)?:",
        r"\b(?:end|begin|start) of (?:the )?(?:system )?(?:prompt|instructions)\b",
        also="new |updated|revised|real|actual|secret|hidden|urgent|end of|begin of|start of",
    ),
    _rule(
        "override", "obey|comply with",
        r"\byou (?:must|will|shall|have to|need to) (?:now )?(?:obey|comply with) (?:me|my|these|the following|"
        r"this)\b",
    ),
)  # fmt: skip

_OVERRIDES_ELSEWHERE = (
    _rule(
        "override", "ignorier|missacht|vergiss|vergesst|vergessen sie",
        rf"\b(?:ignorier\w{{0,3}}|missacht\w{{0,3}}|vergiss|vergesst|vergessen sie) {_WORDS}"
        r"(?:anweisung|instruktion|regel|befehl|vorgabe)\w{0,4}",
        also="anweisung|instruktion|regel|befehl|vorgabe",
    ),
    _rule(
        "override", "ignore|oubli|compte d|neglige",
        rf"\b(?:ignore[rsz]?|oubli\w{{1,3}}|ne tiens pas compte d\w{{1,2}}|neglige\w{{0,2}}) {_WORDS}"
        r"(?:instructions?|consignes?|directives?|regles?|ordres?) (?:\w{1,12} )?"
        r"(?:precedent|anterieur|ci-dessus|du systeme)",
        also="precedent|anterieur|ci-dessus|du systeme",
    ),
    _rule(
        "override", "ignor|olvid|descart|esquec|desconsider|dimentica",
        rf"\b(?:ignor[ae]\w{{0,3}}|olvid[ae]\w{{0,3}}|descart[ae]\w{{0,3}}|esquec\w{{1,3}}|desconsider\w{{1,3}}|"
        rf"dimentica\w{{0,2}}) {_WORDS}(?:instruc\w{{1,6}}|ordenes|reglas|istruzioni|regole|comandi|regras|ordens) "
        r"(?:\w{1,12} )?(?:anterior|previ|precedent|del sistema|acima|dadas)",
        also="anterior|previ|precedent|del sistema|acima|dadas",
    ),
    _rule(
        "override", "negeer|vergeet",
        rf"\b(?:negeer|vergeet) {_WORDS}(?:vorige|voorgaande|eerdere|bovenstaande) "
        r"(?:instructies|opdrachten|regels|aanwijzingen)",
    ),
    _rule(
        "override", "zignoruj|zapomnij|pomin",
        rf"\b(?:zignoruj|zapomnij o|pomin) {_WORDS}(?:poprzedni|wczesniejsz|powyzsz)\w{{1,3}} "
        r"(?:instrukcj|polecen|zasad|wytyczn)",
    ),
    _rule(
        "override", "onceki",
        rf"\bonceki {_WORDS}(?:talimat|komut|yonerge|kural)\w{{0,8}} (?:\w{{1,12}} )?"
        r"(?:yok ?say|gormezden|unut|dikkate alma)",
    ),
    _rule(
        "override", "abaikan|bo qua|bỏ qua",
        rf"abaikan {_WORDS}(?:instruksi|perintah|arahan) (?:\w{{1,12}} )?(?:sebelum|di atas)",
        rf"bỏ qua {_WORDS}(?:hướng dẫn|chỉ dẫn|lệnh) {_WORDS}(?:trước|trên)",
    ),
    _rule(
        "persona", "du bist|tu es|vous etes|ahora|adesso sei|ora sei|agora",
        r"\bdu bist (?:jetzt|ab jetzt|nun|ab sofort) (?:ein|eine|kein|der|die|mein)\b",
        r"\b(?:tu es|vous etes) (?:maintenant|desormais) (?:un|une|le|la|mon)\b",
        r"\b(?:ahora eres|a partir de ahora (?:eres|vas a)|adesso sei|ora sei|agora voce e|"
        r"a partir de agora voce)\b",
    ),
)  # fmt: skip

# Scripts other than Latin: not even looked for in plain ASCII.
_OTHER_SCRIPTS = (
    _rule(
        "override", "игнорир|забуд|ігнору",
        rf"(?:игнорир|забуд|ігнору)\w{{1,6}} {_WORDS}(?:предыдущ|прежн|прошл|вышестоящ|попередн)\w{{1,4}} "
        r"(?:инструкц|указан|команд|правил|інструкц|вказівк)",
    ),
    _rule(
        "override", "忽略|无视|無視|忘记|忘記|不要理会",
        r"(?:忽略|无视|無視|忘记|忘記|不要理会)[^。\n]{0,8}(?:之前|以前|以上|先前|前面|上述|此前|上面|系统)"
        r"[^。\n]{0,8}(?:指令|指示|提示|说明|說明|命令|规则|規則)",
    ),
    _rule(
        "override", "無視|忘れ|破棄",
        r"(?:以前|前|これまで|上記|先ほど|今まで|システム)の?[^。\n]{0,8}(?:指示|命令|プロンプト|ルール|指令)"
        r"[^。\n]{0,6}(?:無視|忘れ|破棄)",
    ),
    _rule(
        "override", "무시|잊",
        r"(?:이전|위의?|앞의?|앞선|지금까지의?|기존) ?(?:의 )?(?:모든 )?(?:지시|명령|지침|프롬프트|규칙)"
        r"[^.\n]{0,6}(?:무시|잊)",
    ),
    _rule(
        "override", "تجاهل",
        r"تجاهل (?:\w{1,12} ){0,3}(?:التعليمات|الأوامر|التوجيهات|القواعد) (?:السابقة|أعلاه)",
    ),
    _rule(
        "override", "अनदेखा|नज़रअंदाज़|भूल",
        r"(?:पिछले|पहले|उपरोक्त)[^।\n]{0,12}(?:निर्देश|आदेश|नियम)[^।\n]{0,10}(?:अनदेखा|नज़रअंदाज़|भूल)",
    ),
    _rule(
        "persona", "теперь|отныне|你现在|现在你|从现在|今から|これから|이제",
        r"(?:теперь ты|ты теперь|отныне ты) (?:\w{1,20} ){0,2}(?:ассистент|помощник|бот|модель|хакер|не )",
        r"你现在是|现在你是|从现在开始,?你|(?:今から|これから)あなたは|이제 ?(?:부터 )?(?:너는|당신은)",
    ),
)  # fmt: skip

_ROLES = (
    _rule(
        "role_tag", "<|[inst|[/inst",
        r"<\|[\w|]{1,40}\|?>|<s>\[inst|\[/?inst\]|<</?sys>>|<(?:antml:)?invoke name=",
        r"</?(?:system|assistant|human|system[-_](?:reminder|prompt|message|instructions?)|function_calls|invoke|"
        r"tool_use|tool_result|tool_call|user_(?:prompt|message|query))(?: [^<>\n]{0,80})?>",
    ),
    _rule("role_tag", '"role"', r"\"role\" ?: ?\"(?:system|assistant|developer)\""),
    _rule("role_tag", "##", r"#{2,4} ?(?:system|instructions?|human|assistant|new instructions?) ?:"),
)  # fmt: skip

_PERSONAS = (
    _rule(
        "persona", "you are now|you're now",
        r"\byou(?: are|'re) now (?:an? |the |in |my |going to be |no longer )?(?:\w{1,20} ){0,2}(?:assistant|"
        r"agent|ai|"
        r"bot|model|dan|mode|persona|hacker|attacker|jailbroken|unrestricted|unfiltered|uncensored|free|"
        r"bound by)\b",
    ),
    _rule(
        "persona", "from now on|from this point|from this moment",
        r"\bfrom (?:now on|this (?:point|moment)(?: on| forward)?),? you "
        r"(?:are|will|must|shall|should|have to|act|answer|respond|only|no longer)\b",
    ),
    _rule(
        "persona", "act as|behave as|respond as|roleplay as",
        rf"\b(?:act|behave|respond|roleplay) as (?:if you (?:are|were|had)|though you|an? {_FREE}|dan\b|"
        r"my (?:deceased|late) )",
    ),
    _rule("persona", "pretend ", r"\bpretend (?:to be|that you|you(?: are|'re)|you have)\b"),
    _rule(
        "persona", " mode |jailbr|anything now",
        r"\b(?:developer|dan|god|jailbreak|sudo) mode (?:is )?(?:now )?(?:enabled|activated|unlocked)\b",
        r"\bdo anything now\b|\bjailbr(?:eak|oken) (?:mode|prompt|successful)",
    ),
    _rule(
        "persona", "your new|your real|your true|your actual",
        r"\byour (?:new|real|true|actual) (?:task|role|instructions?|goal|objective|purpose|job|mission|"
        r"identity|name) "
        r"(?:is|are)\b",
    ),
    _rule(
        "persona", "you have no|you are under no",
        r"\byou (?:have|are under) no (?:restrictions|rules|limitations|guidelines|filters|obligation)\b",
    ),
    _rule(
        "persona", "ethical|moral|safety|content",
        r"\b(?:without|no) (?:any )?(?:ethical|moral|safety|content) "
        r"(?:restrictions|guidelines|limits|limitations|filters|policies|constraints)\b",
        also="without|no ",
    ),
    _rule(
        "persona", "your ",
        rf"\b(?:disable|turn off|bypass|drop|deactivate|remove) (?:all )?(?:of )?your {_WORD}"
        r"(?:safety|content|ethic\w{0,3}|guard\w{0,5}|filters?|restrictions|protections?|guidelines)\b",
        also="disable|turn off|bypass|drop|deactivate|remove",
    ),
    _rule(
        "reveal", "your |above|before|verbatim",
        r"\b(?:reveal|print|output|repeat|show|display|disclose|tell me|give me|leak|dump|expose) (?:me )?"
        r"(?:all (?:of )?)?your (?:full |entire |complete |hidden |secret |initial |original |"
        r"exact ){0,3}(?:system )?"
        r"(?:prompts?|instructions|system message|configuration|secrets|rules)\b",
        r"\b(?:repeat|print|output) (?:the words|everything|all (?:the )?text|the text|all) (?:above|before|"
        r"verbatim)\b",
        also="reveal|print|output|repeat|show|display|disclose|tell me|give me|leak|dump|expose",
    ),
)  # fmt: skip

_EXFILTRATION = (
    _rule(
        "exfiltration", "send |post |upload |exfiltrate|leak |forward |transmit |mail |submit |publish |copy ",
        rf"\b(?=[celmpstuf]){_TOLD}{_LEAKS}\b [^.!?\n]{{0,60}}{_SENSITIVE}[^!?\n]{{0,60}}\b(?:to|at|via|into|"
        rf"using|through)\b"
        rf"[^!?\n]{{0,24}}{_PLACE}",
        rf"\bexfiltrate\b [^.!?\n]{{0,60}}{_SENSITIVE}",
        also="://|@|webhook|exfiltrate|0.|1.|2.|3.|4.|5.|6.|7.|8.|9.",
    ),
    _rule(
        "exfiltration", "curl|wget|nc |netcat|invoke-webrequest",
        rf"\b{_CLIENT}\b[^\n]{{0,160}}(?:\$\(|`|@|<|=)[^\n]{{0,40}}{_FILES}",
        rf"{_FILES}[^\n|]{{0,60}}\|[^\n]{{0,40}}\b{_CLIENT}\b",
        rf"\b(?:env|printenv|set) ?\|[^\n]{{0,40}}\b{_CLIENT}\b",
        also="env|id_rsa|id_ed|.ssh|.aws|npmrc|netrc|credentials|/etc/|set ",
    ),
    _rule(
        "exfiltration", "requests.post(|fetch(",
        rf"\b(?:requests\.post|fetch)\([^\n]{{0,80}}{_PLACE}[^\n]{{0,80}}(?:os\.environ|process\.env|{_FILES})",
    ),
    _rule(
        "exfiltration", "](http",
        r"!\[[^\]\n]{0,80}\]\(https?://[^)\s]{0,200}[?&/][^)\s]{0,100}(?:\{|\$|<|%7b|\[)",
        r"\]\(https?://[^)\s]{0,200}[?&](?:data|secrets?|q|d|c|leak|exfil|key|token|payload|content)="
        r"(?:\{|\$|<|%7b|\[)",
    ),
)  # fmt: skip

_SECRECY = (
    _rule(
        "secrecy", "do not |don't |dont |never |without ",
        rf"\b(?:do not|don't|dont|never|without) (?:ever )?(?:tell(?:ing)?|inform(?:ing)?|alert(?:ing)?|"
        rf"notify(?:ing)?|"
        rf"warn(?:ing)?|(?:mention(?:ing)?|reveal(?:ing)?|disclos\w{{1,3}}) (?:this|it|that|"
        rf"any of this) to) (?:to )?"
        rf"(?:the |your |any )?{_HUMAN}(?: (?:about|of) (?:this|it|these|that|the change|your)|[,.;!)]|$|"
        rf" that you| and )",
        rf"\bdo(?: not|n't) let (?:the |your )?{_HUMAN} (?:know|see|notice)\b",
        r"\b(?:do not|don't|never) (?:mention|reveal|disclose|acknowledge) (?:this|these|that you|"
        r"the existence of th)",
        also="tell|inform|alert|notify|warn|mention|reveal|disclos| let |acknowledge",
    ),
    _rule(
        "secrecy", "secretly|covertly|silently|quietly",
        r"\b(?:secretly|covertly) (?:add|insert|send|upload|include|append|install|modify|change|delete|run|"
        r"execute|"
        r"copy|log)\b",
        r"\b(?:silently|quietly) (?:send|upload|forward|exfiltrate|install|append|execute)\b",
    ),
    _rule(
        "secrecy", "hide |conceal ",
        rf"\b(?:hide|conceal) (?:this|it|these|your actions) from (?:the |your )?{_HUMAN}\b",
    ),
    _rule(
        "encoded", "decode",
        r"\bdecode (?:this|the following|it|the)\b[^.\n]{0,60}\b(?:and|then)\b[^.\n]{0,20}"
        r"\b(?:execute|run|follow|obey|do|comply|carry out|eval)",
        r"\bbase64 --decode\b[^\n]{0,40}\| ?(?:ba|z|da)?sh\b",
    ),
    _rule("encoded", "base64 -d", r"\bbase64 -di?\b[^\n]{0,40}\| ?(?:ba|z|da)?sh\b"),
)  # fmt: skip

RULES = (*_OVERRIDES, *_OVERRIDES_ELSEWHERE, *_ROLES, *_PERSONAS, *_EXFILTRATION, *_SECRECY)
RULES_OF_OTHER_SCRIPTS = _OTHER_SCRIPTS
# Where a line begins matters.
LINE_RULES = (
    _rule(
        "role_tag", "system|assistant|human",
        r"(?:^|\n) {0,3}(?:\*\*)?(?:system|assistant|human)(?: prompt| message)?(?:\*\*)? ?:(?:\*\*)? {0,3}"
        r"(?:you |i |ok|sure|from now|always |do |ignore|please|new )",
        also="m:|t:|n:|e:|*:",
    ),
)  # fmt: skip

# A command to the agent is one when it is addressed and no note would give it.
ADDRESSED = re.compile(
    r"\b(?:attention|dear|hey|hello|note to|message (?:to|for)|instructions? (?:to|for)|important:?|as an?|"
    r"if you are an?|"
    rf"any|every|the|all)(?: the| any| all)?(?: \w{{1,12}})? {_AGENT}\b|\b{_AGENT}[,:]|"
    r"\byou (?:must|should|will|need to|have to|are (?:required|instructed|ordered))\b|"
    r"\b(?:using|use|with|call|invoke) (?:your|the) \w{1,20} tool\b"
)
DANGERS = (
    _rule("agent_command", "rm -r", r"\brm -rf? +(?:/|~|\*|\$home)"),
    _rule("agent_command", "delete all|delete every", r"\bdelete (?:all|every|everything)\b"),
    _rule("agent_command", "drop ", r"\bdrop (?:all|every|the) (?:tables?|databases?)\b"),
    _rule(
        "agent_command", "disable|turn off|switch off|skip ",
        r"\b(?:disable|turn off|switch off|skip) (?:the |all |any |your )?(?:\w{1,12} )?"
        r"(?:security|safety|sandbox|permission|guard|approval|confirmation)\w{0,6}\b",
    ),
    _rule(
        "agent_command", ".env|id_rsa|id_ed25519|.ssh|.aws|.npmrc|.netrc|credentials|/etc/",
        rf"\b(?:read|open|cat|print|dump|collect|gather|list|include|paste)\b [^.\n]{{0,40}}{_FILES}",
    ),
    _rule(
        "agent_command", "http",
        r"\b(?:fetch|visit|open|browse(?: to)?|download|load|curl|wget|execute|run) [^.\n]{0,24}https?://",
    ),
    _rule(
        "agent_command", "approve |accept |merge ",
        r"\b(?:approve|accept|merge) (?:all|every|this|any) (?:\w{1,12} )?"
        r"(?:pull requests?|prs?|changes?|requests?|commands?)\b",
    ),
    _rule(
        "agent_command", "dangerously-skip|backdoor|malware|keylogger|reverse shell",
        r"dangerously-skip-permissions|"
        r"\b(?:add|insert|plant|install) (?:an? |the )?(?:backdoor|malware|keylogger|reverse shell)",
    ),
    _rule(
        "agent_command", "transfer |grant ",
        r"\btransfer (?:all|the) (?:funds|money|balance)|\bgrant (?:\w{1,12} )?(?:admin|root|access to everyone)",
    ),
)  # fmt: skip
