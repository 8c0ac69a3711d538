import { openFilesOf } from '../socket-table.ts'
import type { Tally } from '../tally.ts'
import { untilFound } from '../until-found.ts'
import { connectCompany, inboundText, type World } from '../world.ts'
import { askUnread, getRequest, untilClosed } from './unread.ts'

const CUSTOMER = '393331234567'
const MIB = 1024 * 1024
const FILE_BYTES = 20 * MIB
/** From several addresses, each of which holds less than its share of connections. */
const DOWNLOADS = 250
const BRIEF_DOWNLOADS = 60
const ADDRESSES = 5
/** A file is open while a part of it is read, of which the service reads two at a time. */
const MOST_FILES = 2

/** A signed address at which a company's file of 20 MiB is read. */
export async function createDownload({ stage }: World): Promise<string> {
  const { headers, sender } = await connectCompany(stage)
  const ask = async (path: string, method = 'GET', body?: string | Buffer<ArrayBuffer>, type = 'application/json') => {
    const sent = body === undefined ? {} : { body }
    const answer = await fetch(`${stage.url}/public/v1${path}`, {
      method,
      headers: { authorization: headers.authorization ?? '', 'content-type': type },
      ...sent,
    })
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
    return Object(await answer.json())
  }
  const event = inboundText(sender.phoneNumberId, CUSTOMER, 'Hello', `wamid.${crypto.randomUUID()}`)
  await ask('/webhooks/whatsapp', 'POST', JSON.stringify(event))
  const chatId = await untilFound(async () => (await ask('/whatsapp/conversations')).data[0]?.chatId)
  const file = Buffer.alloc(FILE_BYTES, 'A line of a long text.\n')
  const { mediaId } = Object((await ask('/whatsapp/media?filename=long.txt', 'POST', file, 'text/plain')).data)
  const content = { type: 'document', media: { mediaId } }
  await ask(`/whatsapp/conversations/${chatId}/messages`, 'POST', JSON.stringify(content))
  const messages = (await ask(`/whatsapp/conversations/${chatId}/messages`)).data
  const { url } = messages.map((one: unknown) => Object(Object(one).media)).find((one: { url?: string }) => one.url)
  return new URL(url, stage.url).pathname
}

/** Downloads of one file that nobody reads. */
export async function downloadUnread({ stage }: World, path: string, tally: Tally, isControl: boolean): Promise<void> {
  const count = isControl ? BRIEF_DOWNLOADS : DOWNLOADS
  const sockets = Array.from({ length: count }, (_, n) =>
    askUnread(stage.url, `127.0.8.${1 + (n % ADDRESSES)}`, getRequest(path, { connection: 'close' })),
  )
  tally.requests += count
  const look = async () => {
    const files = (await openFilesOf(stage.service.pid)).filter((file) => file.includes('/data/media/'))
    if (files.length > MOST_FILES) tally.add('open files beyond the bound', `${files.length} files of media are open`)
  }
  await untilClosed(sockets, tally, { name: 'downloads', isControl, look })
}
