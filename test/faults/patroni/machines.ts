import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'

const execute = promisify(execFile)

/** Linux machines of their own on this one: no process, file or address of one is seen by another or by the system. */
export type Machine = {
  address: string
  /** Runs commands as root in the folder `/mnt/work`; answers what they print. */
  run(commands: string): Promise<string>
  /** To all its processes. */
  signal(name: 'KILL' | 'STOP' | 'CONT'): Promise<void>
  /** Pulls its network cable, or puts it back. */
  connect(isConnected: boolean): Promise<void>
}

export type Machines = { machines: Machine[]; stop(): Promise<void> }

/** Whether this user may make machines here. */
export const canMakeMachines = (): boolean =>
  process.getuid?.() === 0 &&
  spawnSync('unshare', [
    ...NAMESPACES,
    'bash',
    '--norc',
    '-euc',
    `${FILES}\nip link add cable type veth peer name other`,
  ]).status === 0

/** All end with this process: the first process of each waits for the end of its input. */
const NAMESPACES = ['--mount', '--net', '--pid', '--ipc', '--fork', '--kill-child', '--mount-proc']
const FILES = [
  'mount -t tmpfs tmpfs /mnt',
  'mkdir /mnt/work',
  ...['etc', 'var'].map((path) => {
    const places = `lowerdir=/${path},upperdir=/mnt/${path},workdir=/mnt/${path}.work`
    return `mkdir /mnt/${path} /mnt/${path}.work; mount -t overlay overlay -o ${places} /${path}`
  }),
  'mount -t tmpfs tmpfs /run; mkdir -m 1777 /run/postgresql',
  'mount -t tmpfs tmpfs /dev/shm',
  'ip link set lo up',
].join('\n')

/** In place of systemd: runs units of packages as they say, without restarting them. */
const SYSTEMCTL = `#!/bin/bash
for unit in "$@"; do
  file=/lib/systemd/system/$unit.service
  [ -f "$file" ] || continue
  value() { sed -n "s/^$1=-\\?//p" "$file" | sed "s/%p/$unit/; s/\\$[A-Z_]*//g" | tail -n 1; }
  case $1 in stop | restart) while pkill -x "$unit"; do sleep 0.1; done; esac
  case $1 in enable | stop) continue; esac
  (set -a; . "$(value EnvironmentFile)"; exec setsid runuser -u "$(value User)" -- $(value ExecStart)) \\
    </dev/null >>"/var/log/$unit.log" 2>&1 &
done
`

/** Starts machines with one network, which this one reaches, too. The addresses are those of benchmarks (RFC 2544). */
export async function startMachines(count: number): Promise<Machines> {
  const net = `198.${18 + ((process.pid >> 8) & 1)}.${process.pid & 255}`
  const cable = `parley${process.pid}`
  const hub = await startNamespaces('ip link set lo up')
  const all = [hub]
  const stop = async () => void (await Promise.all(all.map(({ end }) => end())))
  try {
    await execute('ip', ['link', 'add', cable, 'type', 'veth', 'peer', 'name', 'uplink', 'netns', String(hub.pid)])
    await execute('ip', ['address', 'add', `${net}.254/24`, 'dev', cable])
    await execute('ip', ['link', 'set', cable, 'up'])
    await hub.run('ip link add hub type bridge; ip link set hub up; ip link set uplink up master hub')
    const machines: Machine[] = []
    for (let number = 1; number <= count; number += 1) {
      const machine = await startNamespaces(FILES)
      all.push(machine)
      const port = `port${number}`
      const peer = `peer name eth0 netns ${machine.pid}`
      await execute('nsenter', [
        `--target=${hub.pid}`,
        '--net',
        'bash',
        '--norc',
        '-euc',
        `ip link add ${port} type veth ${peer}; ip link set ${port} up master hub`,
      ])
      const address = `${net}.${number}`
      await machine.run(`ip address add ${address}/24 dev eth0; ip link set eth0 up`)
      await machine.run(
        `mkdir /mnt/path; cat > /mnt/path/systemctl <<'END'\n${SYSTEMCTL}END\nchmod +x /mnt/path/systemctl`,
      )
      machines.push({
        address,
        run: (commands) => machine.run(`cd /mnt/work; PATH=/mnt/path:$PATH\n${commands}`),
        // All but the first process and this one.
        signal: async (name) => void (await machine.run(`kill -${name} -1 || true`)),
        connect: async (isConnected) => void (await hub.run(`ip link set ${port} ${isConnected ? 'up' : 'down'}`)),
      })
    }
    return { machines, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function startNamespaces(setUp: string) {
  const child = spawn('unshare', [...NAMESPACES, 'bash', '--norc', '-euc', `${setUp}\necho ready\nread -r _ || true`], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  await Promise.race([once(child.stdout, 'data'), once(child, 'exit').then(refuse)])
  const pid = Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8'))
  const run = async (commands: string): Promise<string> => {
    const args = [`--target=${pid}`, '--mount', '--net', '--pid', '--ipc', 'bash', '--norc', '-euc', commands]
    const { stdout } = await execute('nsenter', args, { maxBuffer: 2 ** 26 })
    return stdout
  }
  return { pid, run, end: () => end(child) }
}

function refuse(): never {
  throw new Error('A machine cannot be made')
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const exited = once(child, 'exit')
  child.stdin?.end()
  await exited
}
