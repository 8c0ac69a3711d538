// Pictures of each state of the console (test/console/states/), in light and dark, at 1440, 390 and 320 px, in the folder
// `screenshots`. The test of the states takes them: npm run screenshots [-- -t "^contacts"]
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const arguments_ = ['vitest', 'run', 'test/console/states/states.test.ts', ...process.argv.slice(2)]
const child = spawn('npx', arguments_, {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, SCREENSHOTS: `${root}screenshots` },
})
child.on('exit', (status) => {
  process.exitCode = status ?? 1
})
