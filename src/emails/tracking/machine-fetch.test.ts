import { expect, test } from 'vitest'
import { isMachine } from './tracking-routes.ts'

const READER =
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15'

test.each([
  'Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)',
  'YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html',
  'Mozilla/5.0',
  'Barracuda Sentinel (EE)',
  'python-requests/2.31',
  'curl/8.5.0',
  'Microsoft Office Existence Discovery',
  'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/140.0.0.0 Safari/537.36',
  'Go-http-client/2.0',
  'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)',
  'facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)',
  'okhttp/4.12.0',
  'axios/1.7.9',
  'node',
  'undici',
  '',
])('%s is taken for a machine', (agent) => expect(isMachine({ 'user-agent': agent })).toBe(true))

test.each([
  READER,
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148',
  'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Thunderbird/128.4.0',
  'Mozilla/4.0 (compatible; ms-office; MSOffice 16)',
  'Microsoft Office/16.0 (Windows NT 10.0; Microsoft Outlook 16.0.17328; Pro)',
])('%s is taken for a reader', (agent) => expect(isMachine({ 'user-agent': agent })).toBe(false))

test('a fetch ahead of the reader is a machine’s', () => {
  expect(isMachine({ 'user-agent': READER, 'sec-purpose': 'prefetch;prerender' })).toBe(true)
  expect(isMachine({ 'user-agent': READER, purpose: 'prefetch' })).toBe(true)
})
