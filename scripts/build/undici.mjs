// The parts of undici that the programs import. A bundle has these in place of the package (bundle.mjs): all of it, with fetch,
// WebSocket, mocks and caches, takes 0.75 MB of source and 3 MB of memory more. An import of another part fails the build.
import connect from 'undici/lib/api/api-connect.js'
import request from 'undici/lib/api/api-request.js'
import Agent from 'undici/lib/dispatcher/agent.js'
import Dispatcher from 'undici/lib/dispatcher/dispatcher.js'
import EnvHttpProxyAgent from 'undici/lib/dispatcher/env-http-proxy-agent.js'

Dispatcher.prototype.request = request
// Opens tunnels through proxies.
Dispatcher.prototype.connect = connect

export { default as buildConnector } from 'undici/lib/core/connect.js'
export { default as errors } from 'undici/lib/core/errors.js'
export { Agent, EnvHttpProxyAgent }
