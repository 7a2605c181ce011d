import { homedir } from "node:os"
import { join } from "node:path"
import { systemRandom } from "../../clock/random.ts"
import { realClock } from "../../clock/real.ts"
import type { Connect } from "./connect.ts"
import { Interrupted, type ClientVersion, type Environment } from "./environment.ts"
import { hostFiles } from "./host-files.ts"
import { hostPrograms } from "./host-programs.ts"
import { hostZone } from "./time-zone.ts"
import { hostInput, hostOutput } from "./host-streams.ts"

/** The environment of a run on this machine. */
export function hostEnvironment(options: {
  readonly name: string
  readonly version: ClientVersion
  /** Kubeconfigs before that of the user. */
  readonly kubeconfigs: readonly string[]
}): Environment {
  let interrupt: AbortSignal | undefined
  const home = process.env["HOME"] ?? homedir()
  return {
    name: options.name,
    version: options.version,
    variables: process.env,
    stdin: hostInput(() => process.stdin),
    stdout: hostOutput(1, () => process.stdout, "/dev/stdout"),
    stderr: hostOutput(2, () => process.stderr, "/dev/stderr"),
    files: hostFiles,
    processId: process.pid,
    cwd: process.cwd(),
    home,
    kubeconfigs: [...options.kubeconfigs, join(home, ".kube", "config")],
    clock: realClock,
    zone: hostZone,
    random: systemRandom,
    programs: hostPrograms,
    connect: lazyConnect,
    listen: async (address, port, accept) => {
      const { hostListen } = await import("./host-listen.ts")
      return hostListen(address, port, accept)
    },
    serveHttp: async (place, handler) => {
      const { hostServeHttp } = await import("./host-serve-http.ts")
      return hostServeHttp(place, handler)
    },
    get interrupt() {
      return (interrupt ??= interruptSignal())
    },
    get handledInterrupt() {
      return interrupt
    },
  }
}

/** What sends is loaded with the first request: not every command asks a server. */
const lazyConnect: Connect = {
  send: async (request) => (await import("./host-connect.ts")).hostConnect.send(request),
  dial: async (request) => (await import("./host-connect.ts")).hostConnect.dial(request),
}

/** Source of the signals: kubectl pkg/util/interrupt. */
function interruptSignal(): AbortSignal {
  const interrupt = new AbortController()
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const)
    process.once(signal, () => interrupt.abort(new Interrupted(signal)))
  return interrupt.signal
}
