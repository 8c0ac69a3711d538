// Waits for the end of a test run, which holds the other end of the pipe on standard input, and cleans up what it has left.
import { cleanRun } from './clean-run.ts'

const [folder] = process.argv.slice(2)
if (folder === undefined) throw new Error('Usage: run-watcher.ts <folder>')
process.stdin.resume()
process.stdin.on('close', () => void cleanRun(folder))
