import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { chown, stat } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { StartError } from '../start-error.ts'
import type { DataFolder } from './embedded-folder.ts'
import type { Binaries } from './embedded-package.ts'

type Person = { uid: number; gid: number }

/** As whom PostgreSQL runs. */
export type Account = {
  /** What stands before the command. */
  command: string[]
  /** What the process is started as, where no command does it. */
  identity: Partial<Person>
  /** Who must own the cluster then; undefined: whoever we are. */
  owner: Person | undefined
}

const OURSELVES: Account = { command: [], identity: {}, owner: undefined }
const ROOT: Person = { uid: 0, gid: 0 }
const NOBODY: Person = { uid: 65534, gid: 65534 }

/**
 * Chooses an account that PostgreSQL accepts and that reaches both the data and the programs, also under /root,
 * where no other user may enter: PostgreSQL refuses to run as root, and initdb refuses a number without a name.
 */
export async function chooseAccount(binaries: Binaries, folder: DataFolder): Promise<Account> {
  if (process.getuid?.() !== 0) return hasName() ? OURSELVES : unnamed(binaries, folder)
  for (const account of accountsForRoot(await ownerOf(folder))) {
    if (account.identity.uid !== undefined) await give(folder.path, account)
    if (!reaches(account, binaries, folder)) continue
    await give(folder.cluster, account)
    return account
  }
  throw new StartError(
    `PostgreSQL refuses to run as root, and no other account here can reach ${folder.path} and ${binaries.postgres}: ` +
      'start Parley as an ordinary user, allow user namespaces, or set DATABASE_URL to a PostgreSQL of your own',
  )
}

/**
 * For root, the best first: ourselves under another number; where containers forbid that, an account whose one
 * right is root's to pass through folders; last a plain account. Data that a user brought stays that user's.
 */
function accountsForRoot(owner: Person): Account[] {
  const other = owner.uid === 0 ? (person('postgres') ?? person('nobody') ?? NOBODY) : owner
  const plain: Account = { command: [], identity: other, owner: other }
  return owner.uid === 0 ? [namespaced(), passing(other), plain] : [passing(other), namespaced(), plain]
}

/** Ourselves, seen as `nobody` inside a user namespace: all rights on our own files, none of root's. */
function namespaced(): Account {
  const uid = (person('nobody') ?? NOBODY).uid
  return { command: ['unshare', '--user', `--map-user=${uid}`], identity: {}, owner: ROOT }
}

function passing({ uid, gid }: Person): Account {
  const rights = ['--clear-groups', '--inh-caps=+dac_override', '--ambient-caps=+dac_override']
  return { command: ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, ...rights], identity: {}, owner: { uid, gid } }
}

/** A user that the system has no name for, as containers start them. */
function unnamed(binaries: Binaries, folder: DataFolder): Account {
  const account = { ...namespaced(), owner: undefined }
  return reaches(account, binaries, folder) ? account : OURSELVES
}

function hasName(): boolean {
  try {
    return userInfo().username !== ''
  } catch {
    return false
  }
}

function reaches(account: Account, binaries: Binaries, folder: DataFolder): boolean {
  const probe = ['sh', '-c', '"$1" --version && test -w "$2" && test -x "$2"', 'sh', binaries.postgres, folder.path]
  const [command = 'sh', ...args] = [...account.command, ...probe]
  return spawnSync(command, args, { stdio: 'ignore', cwd: '/', ...account.identity }).status === 0
}

/** Whose the data is: the cluster's owner, else the folder's, if initdb would know that user. */
async function ownerOf(folder: DataFolder): Promise<Person> {
  const cluster = await stat(folder.cluster).catch(() => undefined)
  if (cluster) return cluster
  const { uid, gid } = await stat(folder.path)
  return people().some((one) => one.uid === uid) ? { uid, gid } : ROOT
}

/** Hands a folder and all in it to the account's owner, if it is somebody else's. */
async function give(path: string, { owner }: Account): Promise<void> {
  const found = await stat(path).catch(() => undefined)
  if (!owner || !found || found.uid === owner.uid) return
  spawnSync('chown', ['-R', '-P', `${owner.uid}:${owner.gid}`, path])
  await chown(path, owner.uid, owner.gid)
}

const person = (name: string): Person | undefined => people().find((one) => one.name === name)

function people(): (Person & { name: string })[] {
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n')
  return lines.map((line) => {
    const [name = '', , uid, gid] = line.split(':')
    return { name, uid: Number(uid), gid: Number(gid) }
  })
}
