import { expect, test } from 'vitest'
import { toTerminalLine } from './log.ts'

const at = new Date(2026, 0, 2, 3, 4, 5).getTime()
const line = (fields: object) => toTerminalLine(`${JSON.stringify({ time: at, pid: 1, hostname: 'vm', ...fields })}\n`)

test('a line for a terminal is the time, the level above info, the message and its members', () => {
  expect(line({ level: 30, method: 'GET', status: 200, msg: 'request.answered' })).toBe(
    '03:04:05 request.answered method="GET" status=200\n',
  )
  expect(line({ level: 40, msg: 'Only for local work' })).toBe('03:04:05 WARN Only for local work\n')
})

test('control characters of members and messages do not reach the terminal', () => {
  expect(line({ level: 50, error: '\u001b[2J\u009b', msg: '\u001b]0;' })).toBe(
    '03:04:05 ERROR  ]0; error="\\u001b[2J "\n',
  )
})
