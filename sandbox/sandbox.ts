import { once } from 'node:events'
import type { Server } from 'node:http'
import { type Answer, jsonAnswer, type Received } from './answer.ts'
import { type Clock, systemClock } from './clock.ts'
import type { ControlDeps } from './control/control-deps.ts'
import { createControlRouter } from './control/control-router.ts'
import { CONTROL_ROUTES } from './control-routes.ts'
import { answerDialog360, isDialog360Path } from './dialog360/router.ts'
import { answerGraph, type GraphDeps, isGraphPath } from './graph/router.ts'
import { answerGupshup, isGupshupPath } from './gupshup/router.ts'
import { createHttpServer } from './http-server.ts'
import { startMailServer } from './mail/mail-server.ts'
import { answerPhonePage, isPhonePage } from './phone-page/pages.ts'
import { answerReceiver, isReceiverPath } from './receivers/answer-receiver.ts'
import { startStatusFeed } from './webhook/status-feed.ts'
import { createWebhook } from './webhook/webhook.ts'
import { createFeed } from './world/feed.ts'
import { createIdMaker } from './world/id-maker.ts'
import { createWorld } from './world/world.ts'

export type SandboxOptions = {
  /** 0, the default: any free port. */
  port?: number
  host?: string
  /** Of the mail server; 0, the default: any free port. */
  smtpPort?: number
  /** The service's provider webhook; without it events are built and go nowhere. */
  webhookUrl?: string | undefined
  /** Signs every event. */
  appSecret?: string | undefined
  /** Whether `sent` and `delivered` follow each message by themselves; by default when there is a webhook. */
  autoStatus?: boolean
  /** `sent` comes this long after acceptance, `delivered` as long again. */
  statusDelayMs?: number
  /** Accepted messages that are kept. */
  messageLimit?: number
  clock?: Clock
  random?: () => number
}

export type Sandbox = {
  url: string
  port: number
  /** The mail server's address. */
  smtpUrl: string
  /** Ends every connection, answered or not. */
  stop(): Promise<void>
}

/** Starts the provider and the customers' phones on one loopback address, and a mail server; serves until `stop`. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const {
    host = '127.0.0.1',
    port = 0,
    smtpPort = 0,
    webhookUrl,
    appSecret,
    statusDelayMs = 100,
    messageLimit = 10_000,
  } = options
  const { clock = systemClock, random = Math.random, autoStatus = webhookUrl !== undefined } = options
  const feed = createFeed()
  const world = createWorld({ messageLimit, autoStatus, clock, feed })
  const ids = createIdMaker(clock)
  const webhook = createWebhook({ url: webhookUrl, appSecret })
  const statusFeed = startStatusFeed({ world, webhook, clock, delayMs: statusDelayMs })
  const reset = () => {
    statusFeed.forget()
    webhook.target = { url: webhookUrl, appSecret }
    Object.assign(world, createWorld({ messageLimit, autoStatus, clock, feed }))
  }

  const graph: GraphDeps = { world, clock, ids, random, announce: statusFeed.announce }
  const control: ControlDeps = { world, clock, ids, webhook, reset, autoStatusDefault: autoStatus }
  const server = createHttpServer(createHandler(graph, control), ({ url }) =>
    isProviderPath(url) ? world.behaviour.latencyMs : 0,
  )
  const address = await listen(server, port, host)
  const mail = await startMailServer({ world, clock }, smtpPort, host).catch(async (error) => {
    await close(server)
    throw error
  })
  return {
    ...address,
    smtpUrl: mail.url,
    stop: async () => {
      statusFeed.stop()
      await Promise.all([close(server), mail.stop(), webhook.close()])
    },
  }
}

function createHandler(graph: GraphDeps, control: ControlDeps): (request: Received) => Answer | Promise<Answer> {
  const answerControl = createControlRouter(CONTROL_ROUTES)
  return (request) => {
    if (isGraphPath(request.url)) return answerGraph(graph, request)
    if (isReceiverPath(request.url)) return answerReceiver(control.world, request)
    if (isDialog360Path(request.url)) return answerDialog360(graph, request)
    if (isGupshupPath(request.url)) return answerGupshup(graph, request)
    if (isPhonePage(request.url)) return answerPhonePage(request.url, control.webhook.target.url)
    if (request.url.startsWith('/sandbox/')) return answerControl(control, request)
    return jsonAnswer({ error: { message: `Nothing is at ${request.url}` } }, 404)
  }
}

const isProviderPath = (url: string): boolean => isGraphPath(url) || isDialog360Path(url) || isGupshupPath(url)

async function listen(server: Server, port: number, host: string): Promise<{ url: string; port: number }> {
  server.listen(port, host)
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The sandbox has no port')
  const name = host.includes(':') ? `[${host}]` : host
  return { url: `http://${name}:${address.port}`, port: address.port }
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closed
}
