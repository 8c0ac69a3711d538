/**
 * Prints the bytes that grow old while emitters with two listeners come and go, after some have lived long: the objects of
 * requests beside those of connections. In a process of its own, whose flags count. Usage: node listeners-program.ts
 */
import { EventEmitter } from 'node:events'
import { promotedBy } from './promoted.ts'

/** Its listeners hold a part of a request. */
function emitter(): EventEmitter {
  const all = Array.from({ length: 100 }, (_, i) => [i])
  return new EventEmitter().on('close', () => all).on('close', () => all)
}

const lasting = Array.from({ length: 200_000 }, emitter)
const growing = await promotedBy(() => {
  for (let n = 0; n < 100_000; n += 1) emitter()
})
if (lasting.length === 0) throw new Error('None lasts')
console.log(growing)
