// Node takes .js files for ES modules in this package; those below dist/cjs are CommonJS.
import { writeFileSync } from 'node:fs'

writeFileSync(new URL('dist/cjs/package.json', import.meta.url), '{"type":"commonjs"}\n')
