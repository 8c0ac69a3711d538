import { afterAll, afterEach, expect, test } from 'vitest'
import { systemClock } from '../clock.ts'
import { startSandbox } from '../sandbox.ts'
import { call, NUMBER, send, templateTo, texts, textTo } from '../test/client.ts'

const ADA = '393331234567'
const sandbox = await startSandbox({ clock: systemClock })
afterEach(() => call(sandbox, 'POST', '/sandbox/reset'))
afterAll(() => sandbox.stop())

/** The chat as the page of the phone gets it. */
async function chat(): Promise<Record<string, unknown>[]> {
  const answer = await fetch(`${sandbox.url}/sandbox/stream?phone=${ADA}`)
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (!text.includes('\n\n')) text += (await reader.read()).value ?? ''
  await reader.cancel()
  return JSON.parse(/^data: (.*)$/m.exec(text)![1]!)
}
const sendInteractive = async (interactive: object) => {
  const { status, body } = await send(sandbox, textTo(ADA, { type: 'interactive', text: undefined, interactive }))
  expect([status, body.error]).toEqual([200, undefined])
  return body.messages[0].id as string
}
const body = { text: 'Fine?' }
const rows = [{ id: 'fri', title: 'Friday', description: '9 to 12' }]

test.each<[string, object, string | null, object]>([
  [
    'a reply button',
    { type: 'button', body, action: { buttons: [{ type: 'reply', reply: { id: 'y', title: 'Yes' } }] } },
    null,
    {
      label: 'Yes',
      answer: { type: 'interactive', interactive: { type: 'button_reply', button_reply: { id: 'y', title: 'Yes' } } },
    },
  ],
  [
    'a row of a list',
    { type: 'list', body, action: { button: 'Days', sections: [{ title: 'Week', rows }] } },
    'Days',
    {
      ...{ label: 'Friday', description: '9 to 12', section: 'Week' },
      answer: { type: 'interactive', interactive: { type: 'list_reply', list_reply: rows[0] } },
    },
  ],
  [
    'a call to action',
    {
      type: 'cta_url',
      body,
      action: { name: 'cta_url', parameters: { display_text: 'Go', url: 'https://a.example' } },
    },
    null,
    { label: 'Go', url: 'https://a.example' },
  ],
  [
    'a location request',
    { type: 'location_request_message', body, action: { name: 'send_location' } },
    null,
    { label: 'Send location', answer: { type: 'location', location: { latitude: 41.9028 } } },
  ],
  [
    'a contact request',
    { type: 'request_contact_info', body, action: { name: 'request_contact_info' } },
    null,
    { label: 'Share phone number', answer: { type: 'contacts', contacts: [{ origin: 'contact_request' }] } },
  ],
  [
    'a flow',
    {
      type: 'flow',
      body,
      action: {
        name: 'flow',
        parameters: { flow_message_version: '3', flow_id: '1', flow_cta: 'Book', flow_token: 't' },
      },
    },
    null,
    { label: 'Book', answer: { type: 'interactive', interactive: { type: 'nfm_reply' } } },
  ],
])('the phone offers %s, and its answer names the message', async (_, interactive, menu, offer) => {
  const id = await sendInteractive(interactive)
  const [line] = await chat()
  expect(line).toMatchObject({ wamid: id, text: 'Fine?', menu, offers: [offer] })
  const [{ answer }] = line!.offers as [{ answer?: object }]
  if (answer === undefined) return
  expect(answer).toMatchObject({ context: { from: '447700900100', id } })
  await call(sandbox, 'POST', '/sandbox/inbound', { phoneNumberId: NUMBER, from: ADA, name: 'Ada', ...answer })
  expect((await chat())[1]).toMatchObject({ isMine: true, quoted: 'Fine?', offers: [] })
})

test('the phone offers the buttons of a template', async () => {
  const components = [
    { type: 'header', parameters: [{ type: 'image', image: { link: 'https://a.example/a.jpg' } }] },
    { type: 'body', parameters: texts('Ada', 'A-1') },
    { type: 'button', sub_type: 'quick_reply', index: '0', parameters: [{ type: 'payload', payload: 'COMING' }] },
    { type: 'button', sub_type: 'url', index: '1', parameters: texts('A-1') },
  ]
  const { status, body: answer } = await send(sandbox, templateTo(ADA, 'order_ready', components, 'en_US'))
  expect([status, answer.error]).toEqual([200, undefined])
  expect((await chat())[0]).toMatchObject({
    menu: null,
    offers: [
      { label: 'I am coming', answer: { type: 'button', button: { text: 'I am coming', payload: 'COMING' } } },
      { label: 'Track order', url: 'https://example.com/orders/A-1' },
    ],
  })
})

test('a reaction of the business is on its message', async () => {
  const { body: written } = await call(sandbox, 'POST', '/sandbox/inbound', {
    phoneNumberId: NUMBER,
    from: ADA,
    type: 'text',
    text: { body: 'Thank you' },
  })
  const react = (emoji: string) =>
    send(sandbox, textTo(ADA, { type: 'reaction', text: undefined, reaction: { message_id: written.wamid, emoji } }))
  await react('👍')
  expect(await chat()).toMatchObject([{ text: 'Thank you', reaction: '👍' }])
  await react('')
  expect(await chat()).toMatchObject([{ text: 'Thank you', reaction: null }])
})
