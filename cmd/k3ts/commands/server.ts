import { join } from "node:path"
import type { ApiServer } from "../../../components/apiserver/apiserver.ts"
import { LONG_GRACE_MS } from "../../../components/apiserver/stop-serving.ts"
import { assemble, inOrder } from "../../../components/cluster/assemble.ts"
import { quarantineNotices } from "../../../components/cluster/quarantine-notices.ts"
import { clusterSnapshots } from "../../../components/cluster/snapshots.ts"
import { runComponents, STOP_MS, type OrderedComponent } from "../../../components/cluster/lifecycle.ts"
import { besideControlPlane, type NodePlace } from "../../../components/cluster/node/node-place.ts"
import { writeJoinTokens } from "../../../components/supervisor/join-tokens.ts"
import type { Random } from "../../../pkg/clock/random.ts"
import type { Component } from "../../../pkg/component/component.ts"
import { heldBack } from "../../../pkg/component/held-back.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import { openQuarantine, quarantineFolder, type OpenQuarantine } from "../../../pkg/quarantine/quarantine-files.ts"
import { CONTROLLERS_OFF_MS } from "../../../pkg/quarantine/record.ts"
import { giveMemoryBackWhenIdle } from "../../../pkg/runtime/idle-memory.ts"
import { compileAsUsual } from "../../../pkg/runtime/jit.ts"
import { gitCommit, GIT_VERSION, version } from "../../../pkg/version/version.ts"
import { defineCommand } from "../cli/command.ts"
import { preflight } from "../checks/preflight.ts"
import { refuseLacking } from "../checks/finding.ts"
import { refuseBeforeWriting } from "../checks/refusals.ts"
import { bindAddress, clusterConfig, kubeletNames } from "../config/cluster-config.ts"
import { snapshotsConfig } from "../snapshot/server-config.ts"
import { completeRestore } from "../snapshot/restore.ts"
import { k3sFlags } from "../k3s/flags.ts"
import { tellWithoutEffect } from "../k3s/told.ts"
import { withTracing, type Context } from "../context.ts"
import { runsEtcd } from "../etcd/flags.ts"
import { loggerOf } from "../logger.ts"
import { untilFormerEnded } from "../process/former-process.ts"
import { closeServerFolder } from "../process/private-folder.ts"
import { lockDataDir, lockNode, refuseSecondNode, refuseSecondServer, type Lock } from "../process/pid-file.ts"
import { beginLife, tellRunning, type ProcessLife } from "../process/process-life.ts"
import { schedulerOf } from "../config/scheduler-flags.ts"
import { networkOf, type ClusterNetwork } from "../config/network.ts"
import { serverFlags, SIMULATED, type ServerFlags } from "../config/server-flags.ts"
import { joinTokensOf } from "../token/flags.ts"
import { tracingOf } from "../tracing.ts"

export default defineCommand({
  summary: "Run a cluster: the control plane and, unless --disable-agent, a node beside it",
  flags: serverFlags,
  foreign: k3sFlags,
  async run({ flags }) {
    const network = networkOf(flags)
    const log = loggerOf(flags)
    const dataDir = flags["data-dir"]
    const ownsNode = !flags["disable-agent"] && flags["container-runtime-endpoint"] !== SIMULATED
    const listens = { host: bindAddress(flags), port: flags["https-listen-port"] }
    await untilFormerEnded({ dataDir, ownsNode, listens }, { clock: realClock, log })
    refuseSecondServer(dataDir)
    completeRestore(dataDir, realClock.now())
    if (ownsNode) refuseSecondNode()
    refuseLacking(await preflight(flags))
    await refuseBeforeWriting(flags)
    const scheduling = await schedulerOf(flags, log)
    const lock = lockDataDir(dataDir)
    closeServerFolder(dataDir, log)
    try {
      const nodeLock = ownsNode ? lockNode() : undefined
      try {
        await serve(flags, { network, scheduling }, log, lock)
      } finally {
        nodeLock?.release()
      }
    } finally {
      lock.release()
    }
  },
})

async function serve(
  flags: ServerFlags,
  { network, scheduling }: { readonly network: ClusterNetwork; readonly scheduling: Scheduling },
  log: Logger,
  lock: Lock,
): Promise<void> {
  const from = realClock.monotonic()
  const sinceStart = () => Math.round(realClock.monotonic() - from)
  const life = beginLife(log, lock)
  const { context, signal } = life
  let opened: OpenQuarantine | undefined
  const traces = await tracingOf(flags, process.env, context)
  log.info("Starting k3ts", {
    version,
    commit: gitCommit,
    kubernetes: GIT_VERSION,
    dataDir: flags["data-dir"],
    pid: process.pid,
  })
  tellWithoutEffect(flags, log)
  try {
    if (flags["cluster-reset"]) return await reset(flags, network, context, signal)
    opened = openQuarantine(quarantineFolder(flags["data-dir"], "server"), context)
    const noting = { ...context, quarantine: opened?.quarantine }
    await run(flags, network, {
      ...life,
      scheduling,
      context: traces === undefined ? noting : withTracing(noting, traces.tracing),
      sinceStart,
      onPort: (port) => lock.setListening({ host: bindAddress(flags), port }),
    })
  } finally {
    opened?.close()
    await traces?.stop()
  }
  log.info("k3ts has stopped")
}

async function reset(
  flags: ServerFlags,
  network: ClusterNetwork,
  context: Context,
  signal: AbortSignal,
): Promise<void> {
  await (await import("../etcd/managed.ts")).resetManagedStore(flags, network, context, signal)
  context.log.info(
    "The cluster has one server again. Start this one without --cluster-reset; at every other server remove " +
      "server/db in its data directory, and start it with --server and the address of this one",
  )
}

type Scheduling = Awaited<ReturnType<typeof schedulerOf>>

interface Running extends ProcessLife {
  /** What the flags of the scheduler name. */
  readonly scheduling: Scheduling
  /** Returns the milliseconds since the start. */
  sinceStart(): number
  /** Called when the API server listens. */
  onPort(port: number): void
}

/** Runs the components until `signal` aborts or one of them fails. */
async function run(flags: ServerFlags, network: ClusterNetwork, running: Running): Promise<void> {
  const { context, signal, sinceStart, onPort, scheduling } = running
  const { log } = context
  const managed = runsEtcd(flags)
    ? (await import("../etcd/managed.ts")).managedStore(flags, network, context)
    : undefined
  const etcd = managed?.etcd
  const own = etcd && { datastore: managed!.datastore, invite: () => etcd.invitation() }
  const { quarantine } = context
  const isLate = quarantine?.failedStarts !== undefined
  const config = clusterConfig(flags, network, own, scheduling)
  const cluster = assemble(context, config)
  const { shutdownDelayMs: delayMs = 0 } = config.apiServer
  const { apiServer, clients } = cluster
  const place = besideControlPlane(cluster, kubeletNames(flags))
  // A server without a node does not load the code of a node.
  const node = flags["disable-agent"] ? [] : await nodeOf(flags, network, context, place, config.candidate)
  apiServer.health.add("informer-sync", () => notSynced(clients.pendingInformers()), ["readyz"])
  signal.addEventListener("abort", () => (apiServer.health.shuttingDown = true), { once: true })
  const snapshots = {
    component: clusterSnapshots(context, cluster, snapshotsConfig(flags)),
    after: [apiServer.name],
  }
  const { etcdMembers, formerEtcdMembers } = await import("../../../components/cluster/etcd-members.ts")
  const members = etcd === undefined ? formerEtcdMembers(clients) : etcdMembers(clients, () => etcd.members)
  const components = [
    ...(etcd === undefined ? [] : [{ component: etcd, after: [] }]),
    ...inOrder(cluster, etcd === undefined ? [] : [etcd.name]).map(({ component, after }) => ({
      component: isLate && component !== apiServer ? heldBack(component, CONTROLLERS_OFF_MS, context) : component,
      after,
    })),
    { component: members, after: [apiServer.name] },
  ]
  const notices =
    quarantine === undefined ? [] : [{ component: quarantineNotices(quarantine, cluster), after: [apiServer.name] }]
  await runComponents([...components, snapshots, ...notices, ...node], {
    signal,
    clock: context.clock,
    log,
    failed: context.failed,
    stopMs: delayMs === 0 ? STOP_MS : STOP_MS + delayMs + LONG_GRACE_MS,
    started(component: Component) {
      if (component === apiServer) {
        writeTokens(flags, apiServer, context.random)
        onPort(apiServer.port ?? flags["https-listen-port"])
        log.info("The API server is ready", {
          port: apiServer.port,
          kubeconfig: flags["write-kubeconfig"],
          ms: sinceStart(),
        })
      } else if (component.problem !== undefined) {
        apiServer.health.add(component.name, () => component.problem!(), ["readyz"])
      }
    },
    ready() {
      log.info("k3ts is running", { ms: sinceStart() })
      compileAsUsual()
      giveMemoryBackWhenIdle(context.clock)
      tellRunning(running, () => apiServer.health.problem("livez"))
    },
  })
}

/** Returns the components of the node beside the control plane. */
async function nodeOf(
  flags: ServerFlags,
  network: ClusterNetwork,
  context: Context,
  place: NodePlace,
  candidate: string | undefined,
): Promise<readonly OrderedComponent[]> {
  const { serverNodeConfig, simulatedNodeConfig } = await import("../config/node-config.ts")
  if (flags["container-runtime-endpoint"] === SIMULATED) {
    const { loneSimulatedNode } = await import("../../../components/cluster/node/simulated-node.ts")
    return loneSimulatedNode(context, place, simulatedNodeConfig(flags, network))
  }
  const { hostNode } = await import("../../../components/cluster/node/host-node.ts")
  return hostNode(context, place, await serverNodeConfig(flags, network, candidate))
}

/** Writes the files of the tokens by which machines join. */
const writeTokens = (flags: ServerFlags, { files }: Pick<ApiServer, "files">, random: Random): void =>
  writeJoinTokens({
    dir: join(flags["data-dir"], "server"),
    caPem: files!.pki.authorities["server-ca"].certPem,
    random,
    ...joinTokensOf(flags),
  })

const notSynced = (kinds: readonly string[]): string | undefined =>
  kinds.length === 0 ? undefined : `${kinds.length} informers not started yet: [${kinds.join(" ")}]`
