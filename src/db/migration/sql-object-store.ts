import { messageOf, StartError } from '../../platform/start-error.ts'
import { VERSION } from '../../platform/version.ts'
import type { Db, Transaction } from '../connect.ts'
import { isTemporary, sqlState } from '../pool/failure.ts'
import { listOtherVersions } from './other-versions.ts'
import { areEqual, type Created, changedOf, checksumOf, KINDS, listCreated, type SqlObject } from './sql-object.ts'
import { takeLocks } from './table-locks.ts'

const OTHER_SHAPE = ['42P13', '42P16']

/**
 * Updates database objects from their files. Must run in a transaction, so other sessions see all old or all new ones.
 * Unchanged shapes keep their identity for statements just parsed; functions with other arguments or without a file
 * stay for previous-version processes.
 * @throws StartError with the file name when the database refuses one
 */
export async function replaceSqlObjects(tx: Transaction, objects: SqlObject[]): Promise<void> {
  const { own } = await listCreated(tx)
  if (!areEqual(own, objects)) await replaceAll(tx, own, objects)
  const { kept } = await listCreated(tx)
  if (kept.length > 0) await dropKept(tx, kept)
}

async function replaceAll(tx: Transaction, own: Created[], objects: SqlObject[]): Promise<void> {
  const changed = changedOf(own, objects)
  const gone = own.filter(({ name }) => !objects.some((object) => object.name === name))
  await takeLocks(tx, { exclusive: [], constraints: [], written: [] })
  // Functions may call each other in any order.
  await tx`set local check_function_bodies = off`
  // Dropping a type cascades to its dependents.
  const isType = ({ kind, name }: { kind: string; name: string }) =>
    kind === 'type' && own.some((one) => one.name === name)
  if ([...changed, ...gone].some(isType)) await createAll(tx, own, objects)
  else {
    for (const object of changed) await replace(tx, object)
    for (const { name } of gone) await keepFunctions(tx, name, [])
    for (const { kind, name } of gone) {
      if (kind === 'view') await tx.unsafe(`drop view if exists ${name}`)
      await tx`delete from sql_objects where name = ${name}`
    }
  }
}

async function createAll(tx: Transaction, own: Created[], objects: SqlObject[]): Promise<void> {
  for (const kind of KINDS.toReversed()) {
    for (const { name } of own.filter((object) => object.kind === kind)) {
      if (kind !== 'function') await tx.unsafe(`drop ${kind} if exists ${name} cascade`)
      else for (const { signature } of await functionsOf(tx, name)) await tx.unsafe(`drop function ${signature}`)
    }
  }
  await tx`delete from sql_objects`
  for (const object of objects) {
    await create(tx, object)
    await record(tx, object)
  }
}

async function replace(tx: Transaction, object: SqlObject): Promise<void> {
  const before = await functionsOf(tx, object.name)
  await createOrReplace(tx, object)
  await record(tx, object)
  if (object.kind !== 'function') return
  const current = (await functionsOf(tx, object.name)).filter(({ signature, writtenBy }) =>
    before.every((one) => one.signature !== signature || one.writtenBy !== writtenBy),
  )
  await keepFunctions(
    tx,
    object.name,
    current.map(({ signature }) => signature),
  )
}

async function createOrReplace(tx: Transaction, object: SqlObject): Promise<void> {
  const { kind, name, text } = object
  const replacing = { ...object, text: text.replace(/^create (view|function)/m, 'create or replace $1') }
  try {
    await tx.savepoint((inner) => create(inner, replacing))
  } catch (error) {
    const { cause } = error as { cause?: unknown }
    if (!OTHER_SHAPE.includes(sqlState(cause) ?? '')) throw error
    if (kind === 'view') await tx.unsafe(`drop view ${name}`)
    else for (const { signature } of await functionsOf(tx, name)) await tx.unsafe(`drop function ${signature}`)
    await create(tx, object)
  }
}

type Signature = { signature: string; writtenBy: string }

const functionsOf = (tx: Db, name: string): Promise<Signature[]> => tx<Signature[]>`
  select function.oid::regprocedure::text as signature, function.xmin::text as written_by
  from pg_proc function
  where function.proname = ${name} and function.pronamespace = 'public'::regnamespace
`

/** Previous-version processes call them. */
async function keepFunctions(tx: Db, name: string, current: string[]): Promise<void> {
  for (const { signature } of await functionsOf(tx, name)) {
    if (current.includes(signature)) await tx`delete from sql_objects where name = ${signature}`
    else
      await tx`
        insert into sql_objects (name, kind, checksum, superseded_by) values (${signature}, 'function', '', ${VERSION})
        on conflict do nothing
      `
  }
}

async function dropKept(tx: Transaction, kept: Created[]): Promise<void> {
  const others = await listOtherVersions(tx)
  for (const { name, supersededBy } of kept) {
    if (others.some(({ version }) => version !== supersededBy)) continue
    await tx.unsafe(`drop function if exists ${name}`)
    await tx`delete from sql_objects where name = ${name}`
  }
}

async function create(tx: Db, { file, text }: SqlObject): Promise<void> {
  try {
    await tx.unsafe(text)
  } catch (error) {
    if (isTemporary(error)) throw error
    throw new StartError(`src/${file} cannot be created, and nothing was changed: ${messageOf(error)}`, error)
  }
}

const record = (tx: Db, object: SqlObject) => tx`
  insert into sql_objects (name, kind, checksum) values (${object.name}, ${object.kind}, ${checksumOf(object)})
  on conflict (name) do update set kind = excluded.kind, checksum = excluded.checksum
`
