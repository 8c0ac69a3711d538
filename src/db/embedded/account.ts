import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { dirname } from 'node:path'
import { StartError } from '../../platform/start-error.ts'
import type { DataFolder } from './folder.ts'
import type { Binaries } from './package.ts'

type Owner = { uid: number; gid: number }

/** The account that PostgreSQL runs under. */
export type Account = {
  /** The prefix of the command. */
  command: string[]
  /** The user and group of the process, if no command sets them. */
  identity: Partial<Owner>
  /** The user that must own the cluster; undefined: the user of this process. */
  owner: Owner | undefined
  /** Whether the folder around the cluster has to be the owner's too; otherwise the account can pass through folders of any owner. */
  needsFolder: boolean
}

const OURSELVES: Account = { command: [], identity: {}, owner: undefined, needsFolder: false }
const ROOT: Owner = { uid: 0, gid: 0 }
const NOBODY: Owner = { uid: 65534, gid: 65534 }

/**
 * Chooses an account that PostgreSQL accepts and that reaches both the data and the programs, also under /root,
 * where no other user may enter: PostgreSQL refuses to run as root, and initdb refuses a number without a name.
 */
export async function chooseAccount(binaries: Binaries, folder: DataFolder): Promise<Account> {
  if (process.getuid?.() !== 0) return hasName() ? OURSELVES : unnamed(binaries, folder)
  for (const account of accountsForRoot(await ownerOf(folder))) {
    if (!reaches(account, binaries, folder)) continue
    if (account.needsFolder) await give(account, folder.path)
    await give(account, folder.cluster, '-R')
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
function accountsForRoot(owner: Owner): Account[] {
  const other = owner.uid === 0 ? (findUser('postgres') ?? findUser('nobody') ?? NOBODY) : owner
  const plain: Account = { command: [], identity: other, owner: other, needsFolder: true }
  return owner.uid === 0 ? [namespaced(), passing(other), plain] : [passing(other), namespaced(), plain]
}

/** This process in a user namespace with an unprivileged user id: all rights on its own files, none of root's. */
function namespaced(): Account {
  const uid = (findUser('nobody') ?? NOBODY).uid
  return { command: ['unshare', '--user', `--map-user=${uid}`], identity: {}, owner: ROOT, needsFolder: true }
}

/** The securebit lets that right count in access(2) too, by which initdb looks for the programs beside it. */
function passing({ uid, gid }: Owner): Account {
  const rights = [
    '--clear-groups',
    '--inh-caps=+dac_override',
    '--ambient-caps=+dac_override',
    '--securebits=+no_setuid_fixup',
  ]
  const command = ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, ...rights]
  return { command, identity: {}, owner: { uid, gid }, needsFolder: false }
}

/** A user that the system has no name for, as containers start them. */
function unnamed(binaries: Binaries, folder: DataFolder): Account {
  const account = { ...namespaced(), owner: undefined, needsFolder: false }
  return reaches(account, binaries, folder) ? account : OURSELVES
}

function hasName(): boolean {
  try {
    return userInfo().username !== ''
  } catch {
    return false
  }
}

/** Whether the account can run the programs and reach the folders that it needs. */
function reaches(account: Account, binaries: Binaries, folder: DataFolder): boolean {
  const path = account.needsFolder ? dirname(folder.path) : folder.path
  const probe = ['sh', '-c', '"$1" --version && test -x "$2"', 'sh', binaries.postgres, path]
  const [command = 'sh', ...args] = [...account.command, ...probe]
  return spawnSync(command, args, { stdio: 'ignore', cwd: '/', ...account.identity }).status === 0
}

/** The owner of the data: that of the cluster, otherwise that of the folder if initdb would know this user. */
async function ownerOf(folder: DataFolder): Promise<Owner> {
  const cluster = await stat(folder.cluster).catch(() => undefined)
  if (cluster) return { uid: cluster.uid, gid: cluster.gid }
  const { uid, gid } = await stat(folder.path)
  return listUsers().some((one) => one.uid === uid) ? { uid, gid } : ROOT
}

/** Changes the owner of a folder to that of the account, if it is another. */
async function give({ owner }: Account, path: string, ...options: string[]): Promise<void> {
  const found = await stat(path).catch(() => undefined)
  if (!owner || !found || found.uid === owner.uid) return
  const { status, stderr } = spawnSync('chown', [...options, `${owner.uid}:${owner.gid}`, path], { encoding: 'utf8' })
  if (status !== 0) throw new StartError(`${path} could not be handed to user ${owner.uid}: ${stderr.trim()}`)
}

const findUser = (name: string): Owner | undefined => listUsers().find((one) => one.name === name)

function listUsers(): (Owner & { name: string })[] {
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n')
  return lines.map((line) => {
    const [name = '', , uid, gid] = line.split(':')
    return { name, uid: Number(uid), gid: Number(gid) }
  })
}
