/** A corpus of HTML mails as shops, banks, editors and mail programs write them, with all that makes them hard to change. */
export type HtmlMail = { name: string; html: string; links: number }

const BODIES: [name: string, html: string, links: number][] = [
  ['plain paragraph', '<p>Hello Ada, <a href="https://shop.example/orders/1">your order</a> is on its way.</p>', 1],
  ['no markup at all', 'Hello Ada, your order is on its way: https://shop.example/orders/1', 0],
  ['single quotes', "<p><a href='https://shop.example/a?b=1'>one</a></p>", 1],
  ['no quotes', '<p><a href=https://shop.example/plain target=_blank>one</a></p>', 1],
  ['blanks around equals', '<a  class = "x"  href  =  "https://shop.example/spaces"  >one</a>', 1],
  ['upper case', '<A HREF="HTTPS://SHOP.EXAMPLE/UPPER" TARGET="_BLANK">ONE</A>', 1],
  ['entities', '<a href="https://shop.example/?a=1&amp;b=2&#38;c=3&copy=4">one</a>', 1],
  [
    'mailto, tel, sms',
    '<a href="mailto:a@b.example">m</a><a href="tel:+39333">t</a><a href="sms:+39333?body=x">s</a>',
    0,
  ],
  ['anchors', '<a name="top"></a><a href="#top">up</a><a href="">self</a><a>none</a><a href>bare</a>', 0],
  ['relative', '<a href="/orders">r</a><a href="orders.html">r</a><a href="?x=1">r</a><a href="https:">r</a>', 0],
  ['cid and data', '<img src="cid:logo@shop"><a href="cid:file@shop">c</a><a href="data:text/html,x">d</a>', 0],
  ['scripts of old', '<a href="javascript:void(0)">j</a><a href="vbscript:x">v</a><a href="about:blank">b</a>', 0],
  [
    'outlook conditional',
    '<!--[if mso]><v:roundrect href="https://shop.example/mso"><a href="https://shop.example/mso">x</a></v:roundrect><![endif]--><a href="https://shop.example/real">x</a>',
    1,
  ],
  ['downlevel revealed', '<![if !mso]><a href="https://shop.example/revealed">x</a><![endif]>', 1],
  [
    'ghost table',
    '<!--[if (gte mso 9)|(IE)]><table><tr><td><![endif]--><div><a href="https://shop.example/g">x</a></div><!--[if (gte mso 9)|(IE)]></td></tr></table><![endif]-->',
    1,
  ],
  ['comments with links', '<!-- <a href="https://shop.example/no">x</a> --><p>text</p><!-- > -- ->', 0],
  [
    'style with braces',
    '<style>a[href="https://shop.example/css"]{color:red} /* <a href="https://x.example"> */</style><p>x</p>',
    0,
  ],
  ['script text', '<script>var a = \'<a href="https://shop.example/js">\';</script><p>x</p>', 0],
  [
    'title and textarea',
    '<title><a href="https://x.example">t</a></title><textarea><a href="https://x.example"></textarea>',
    0,
  ],
  ['image map', '<map name="m"><area href="https://shop.example/area1" coords="0,0,1,1"><area href="#"></map>', 1],
  ['image link', '<a href="https://shop.example/i"><img src="https://cdn.example/i.png" alt="a > b"></a>', 1],
  ['greater-than in attribute', '<a title="1 > 0" data-x=\'<a href="no">\' href="https://shop.example/gt">x</a>', 1],
  ['two hrefs', '<a href="https://shop.example/first" href="https://shop.example/second">x</a>', 1],
  ['nested links', '<a href="https://shop.example/outer">a<a href="https://shop.example/inner">b</a></a>', 2],
  ['unclosed', '<p><b><a href="https://shop.example/unclosed">x<p>y<table><tr><td>z', 1],
  ['foster parented', '<table><a href="https://shop.example/foster">x</a><tr><td>y</td></tr></table>', 1],
  ['broken tag at the end', '<p>x</p><a href="https://shop.example/broken', 0],
  ['unclosed comment', '<p>x</p><a href="https://shop.example/c">y</a><!-- [if mso]><p>', 1],
  ['unclosed style', '<a href="https://shop.example/c">y</a><style>p { color: red }', 1],
  ['ends in a bracket', '<p>1 <', 0],
  ['ends in half an end tag', '<p>1 </', 0],
  ['ends in half a declaration', '<p>1 <!doc', 0],
  ['same target twice', '<a href="https://shop.example/s">1</a> <a href="https://shop.example/s">2</a>', 2],
  ['padded value', '<a href="  https://shop.example/padded\n ">x</a>', 1],
  ['newline inside the value', '<a href="https://shop.example/a\n  b">x</a>', 1],
  [
    'template language left in',
    '<a href="{{ link }}">x</a><a href="%%unsubscribe%%">y</a><a href="*|ARCHIVE|*">z</a>',
    0,
  ],
  ['encoded target', '<a href="https://shop.example/%E4%BD%A0?q=%20%26&amp;r=a+b#frag">x</a>', 1],
  ['international host', '<a href="https://münchen.example/straße">x</a>', 1],
  ['ip and port', '<a href="http://192.0.2.1:8080/x">x</a><a href="http://[2001:db8::1]/y">y</a>', 2],
  ['user and password', '<a href="https://user:secret@shop.example/">x</a>', 1],
  [
    'svg',
    '<svg width="1"><a href="https://shop.example/svg"><style><a href="https://x.example"></style></a></svg><a href="https://shop.example/after">x</a>',
    1,
  ],
  ['noscript', '<noscript><a href="https://shop.example/noscript">x</a></noscript>', 1],
  [
    'tabs and carriage returns',
    '<table>\r\n\t<tr>\r\n\t\t<td><a\r\n\t\t\thref="https://shop.example/crlf"\r\n>x</a></td>\r\n</tr>\r\n</table>\r\n',
    1,
  ],
  ['astral characters', '<p>🎉🎉 <a href="https://shop.example/party?🎉=1">𝒳</a> 🎉</p>', 1],
  ['nul and odd bytes', '<p>a\u0001b\u00a0c\u200bd</p><a href="https://shop.example/odd">x</a>', 1],
  [
    'web beacon of another',
    '<img src="https://other.example/pixel.gif" width="1" height="1"><a href="https://shop.example/b">x</a>',
    1,
  ],
  [
    'form',
    '<form action="https://shop.example/form"><input type="submit" formaction="https://shop.example/f2"></form>',
    0,
  ],
  [
    'link and base',
    '<link href="https://cdn.example/s.css" rel="stylesheet"><base href="https://shop.example/"><p>x</p>',
    0,
  ],
  ['xhtml', '<br /><img src="x.png" /><a href="https://shop.example/x" />x', 1],
  ['ftp', '<a href="ftp://files.example/x">x</a><a href="//cdn.example/protocol-relative">y</a>', 0],
  [
    'amp4email',
    '<div amp4email><template type="amp-mustache"><a href="https://shop.example/{{id}}">x</a></template></div>',
    1,
  ],
]

const DOCUMENTS: [name: string, wrap: (body: string) => string][] = [
  ['fragment', (body) => body],
  [
    'document',
    (body) =>
      `<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>Mail</title></head>\n<body bgcolor=#ffffff>\n${body}\n</body>\n</html>\n`,
  ],
  [
    'xhtml transitional',
    (body) =>
      `<?xml version="1.0"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd"><html xmlns="http://www.w3.org/1999/xhtml" xmlns:o="urn:schemas-microsoft-com:office:office"><head><!--[if gte mso 9]><xml><o:OfficeDocumentSettings><o:PixelsPerInch>96</o:PixelsPerInch></o:OfficeDocumentSettings></xml><![endif]--></head><BODY>${body}</BODY></html>`,
  ],
]

export const HTML_MAILS: HtmlMail[] = DOCUMENTS.flatMap(([kind, wrap]) =>
  BODIES.map(([name, html, links]) => ({ name: `${name}, as ${kind}`, html: wrap(html), links })),
)
