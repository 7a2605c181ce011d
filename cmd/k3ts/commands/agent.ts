import { besideServers, serverList } from "../../../components/cluster/agent.ts"
import { OwnAddresses } from "../../../components/cluster/node/own-addresses.ts"
import { runComponents } from "../../../components/cluster/lifecycle.ts"
import { AgentFiles } from "../../../components/supervisor/agent/agent-files.ts"
import { joinCluster } from "../../../components/supervisor/agent/join.ts"
import { Membership } from "../../../components/supervisor/agent/membership.ts"
import type { AgentConfig } from "../../../components/supervisor/agent-config.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import { ADDRESS_GROUPS } from "../../../pkg/netlink/links.ts"
import { openQuarantine, quarantineFolder } from "../../../pkg/quarantine/quarantine-files.ts"
import { giveMemoryBackWhenIdle } from "../../../pkg/runtime/idle-memory.ts"
import { compileAsUsual } from "../../../pkg/runtime/jit.ts"
import { hearNetlink } from "../../../pkg/runtime/netlink.ts"
import { gitCommit, GIT_VERSION, version } from "../../../pkg/version/version.ts"
import { agentNodeConfig, agentSimulatedNodeConfig } from "../config/agent-config.ts"
import { isOwnAddress } from "../config/host.ts"
import { agentFlags, type AgentFlags } from "../config/agent-flags.ts"
import { preflightNode } from "../checks/preflight.ts"
import { refuseLacking } from "../checks/finding.ts"
import { defineCommand } from "../cli/command.ts"
import { kubeletNames, nodeNameOf } from "../config/cluster-config.ts"
import { containerdConfig } from "../config/node-config.ts"
import type { Context } from "../context.ts"
import { k3sFlags } from "../k3s/flags.ts"
import { tellWithoutEffect } from "../k3s/told.ts"
import { loggerOf } from "../logger.ts"
import { untilFormerEnded } from "../process/former-process.ts"
import { lockAgent, lockNode, refuseSecondNode, type Lock } from "../process/pid-file.ts"
import { beginLife, tellRunning, type ProcessLife } from "../process/process-life.ts"
import { SIMULATED } from "../config/server-flags.ts"
import { tokenOf } from "../token/flags.ts"

/** The machine's password for joining, which outlives its data directory. */
const PASSWORD_FILE = "/etc/k3ts/node/password"

export default defineCommand({
  summary: "Run a node of a cluster whose servers are on other machines",
  flags: agentFlags,
  foreign: k3sFlags,
  async run({ flags }) {
    const log = loggerOf(flags)
    const ownsNode = flags["container-runtime-endpoint"] !== SIMULATED
    await untilFormerEnded({ dataDir: flags["data-dir"], ownsNode }, { clock: realClock, log })
    if (ownsNode) refuseSecondNode()
    refuseLacking(preflightNode(flags))
    // Read again where it is used; a file that is not there is found before anything is written.
    tokenOf("token", flags.token, flags["token-file"])
    const lock = lockAgent(flags["data-dir"])
    try {
      const nodeLock = ownsNode ? lockNode() : undefined
      try {
        await serve(flags, log, lock)
      } finally {
        nodeLock?.release()
      }
    } finally {
      lock.release()
    }
    log.info("k3ts has stopped")
  },
})

async function serve(flags: AgentFlags, log: Logger, lock: Lock): Promise<void> {
  const life = beginLife(log, lock)
  log.info("Starting a k3ts agent", {
    version,
    commit: gitCommit,
    kubernetes: GIT_VERSION,
    dataDir: flags["data-dir"],
    pid: process.pid,
  })
  tellWithoutEffect(flags, log)
  const opened = openQuarantine(quarantineFolder(flags["data-dir"], "agent"), life.context)
  try {
    await run(flags, { ...life, context: { ...life.context, quarantine: opened?.quarantine } })
  } finally {
    opened?.close()
  }
}

/** Joins the cluster, then runs the node until `signal` aborts or a component fails. */
async function run(flags: AgentFlags, life: ProcessLife): Promise<void> {
  const { context, signal } = life
  const { clock, random, log } = context
  const from = clock.monotonic()
  const sinceStart = () => Math.round(clock.monotonic() - from)
  const namesIn = ({ clusterCidrs }: Pick<AgentConfig, "clusterCidrs">) =>
    kubeletNames({ ...flags, "cluster-cidr": [...clusterCidrs] })
  const nodeName = nodeNameOf(flags)
  const membership = new Membership({
    files: new AgentFiles(flags["data-dir"], PASSWORD_FILE),
    token: tokenOf("token", flags.token, flags["token-file"]),
    nodeName,
    nodeIps: (config) => namesIn(config).nodeIps,
    clock,
    random,
    log,
  })
  const servers = serverList(flags.server, clock)
  servers.set((membership.remembered?.config.servers ?? []).map((server) => `https://${server}`))
  const joining = joinCluster({ membership, servers, clock, random, log, signal })
  joining.catch(() => undefined) // told below
  let early = await startContainerd(flags, context, membership.remembered?.config.disabled ?? [], signal)
  const isInformed = await joining.catch(async (err: unknown) => {
    await early?.component.stop()
    if (signal.aborted) return undefined
    throw err
  })
  if (isInformed === undefined) return
  const { config } = membership.remembered!
  if (early !== undefined && early.guardsSources === config.disabled.includes("source-guard")) {
    await early.component.stop()
    early = undefined
  }
  log.info("The machine is a member of the cluster", { node: nodeName, server: servers.current, ms: sinceStart() })
  const addresses = follows(flags)
    ? new OwnAddresses({
        read: () => namesIn(config).nodeIps.filter((address) => !isLoopback(address)),
        isHeld: isOwnAddress,
        watch: (changed) => hearNetlink(ADDRESS_GROUPS, changed),
        clock,
        log,
      })
    : undefined
  const place = besideServers(context, {
    membership,
    servers,
    isUninformed: !isInformed,
    names: namesIn(config),
    ...(early === undefined ? {} : { early }),
    ...(addresses === undefined ? {} : { addresses }),
  })
  const node = !ownsNode(flags)
    ? (await import("../../../components/cluster/node/simulated-node.ts")).loneSimulatedNode(
        context,
        place,
        agentSimulatedNodeConfig(flags, config),
      )
    : (await import("../../../components/cluster/node/host-node.ts")).hostNode(
        context,
        place,
        await agentNodeConfig(flags, config),
      )
  await runComponents(node, {
    signal,
    clock,
    log,
    failed: context.failed,
    ready() {
      log.info("The node runs", { ms: sinceStart() })
      compileAsUsual()
      giveMemoryBackWhenIdle(clock)
      tellRunning(life)
    },
  })
}

/**
 * Starts the containerd of the node while the machine joins, if there is to be one: that takes about as long. Whether
 * it is right is known only when the machine has joined.
 */
async function startContainerd(flags: AgentFlags, context: Context, disabled: readonly string[], signal: AbortSignal) {
  if (!ownsNode(flags) || flags["container-runtime-endpoint"] !== undefined) return undefined
  const { EarlyContainerd } = await import("../../../components/cluster/node/node-containerd.ts")
  return new EarlyContainerd(context, await containerdConfig(flags, disabled), signal)
}

/** Whether the node's addresses are those that the machine happens to have. */
const follows = (flags: AgentFlags): boolean => ownsNode(flags) && flags["node-ip"].length === 0

const isLoopback = (address: string): boolean => address === "::1" || address.startsWith("127.")

const ownsNode = (flags: AgentFlags): boolean => flags["container-runtime-endpoint"] !== SIMULATED
