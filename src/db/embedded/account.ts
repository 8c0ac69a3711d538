import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { dirname } from 'node:path'
import { StartError } from '../../platform/start-error.ts'
import type { DataFolder } from './folder.ts'
import type { Binaries } from './package.ts'

type Owner = { uid: number; gid: number }

export type Account = {
  command: string[]
  identity: Partial<Owner>
  /** Required cluster owner; undefined: this process's user. */
  owner: Owner | undefined
  /** Whether the folder around the cluster must have this owner too. */
  needsFolder: boolean
}

const OURSELVES: Account = { command: [], identity: {}, owner: undefined, needsFolder: false }
const ROOT: Owner = { uid: 0, gid: 0 }
const NOBODY: Owner = { uid: 65534, gid: 65534 }

/** PostgreSQL refuses to run as root, and initdb refuses a uid without a name. Must also work below /root. */
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

/** Best first. Containers may forbid user namespaces. An existing cluster keeps its owner. */
function accountsForRoot(owner: Owner): Account[] {
  const other = owner.uid === 0 ? (findUser('postgres') ?? findUser('nobody') ?? NOBODY) : owner
  const plain: Account = { command: [], identity: other, owner: other, needsFolder: true }
  return owner.uid === 0 ? [namespaced(), passing(other), plain] : [passing(other), namespaced(), plain]
}

/** A user namespace: all rights on its own files, none of root's. */
function namespaced(): Account {
  const uid = (findUser('nobody') ?? NOBODY).uid
  return { command: ['unshare', '--user', `--map-user=${uid}`], identity: {}, owner: ROOT, needsFolder: true }
}

/** Keeps only the right to pass folders. The securebit makes access(2) honor this too, for initdb to find programs. */
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

function reaches(account: Account, binaries: Binaries, folder: DataFolder): boolean {
  const path = account.needsFolder ? dirname(folder.path) : folder.path
  const probe = ['sh', '-c', '"$1" --version && test -x "$2"', 'sh', binaries.postgres, path]
  const [command = 'sh', ...args] = [...account.command, ...probe]
  return spawnSync(command, args, { stdio: 'ignore', cwd: '/', ...account.identity }).status === 0
}

/** Without a cluster: the folder's owner, if initdb would know this user. */
async function ownerOf(folder: DataFolder): Promise<Owner> {
  const cluster = await stat(folder.cluster).catch(() => undefined)
  if (cluster) return { uid: cluster.uid, gid: cluster.gid }
  const { uid, gid } = await stat(folder.path)
  return listUsers().some((one) => one.uid === uid) ? { uid, gid } : ROOT
}

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
