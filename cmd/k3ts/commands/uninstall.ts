import { existsSync, readdirSync, rmdirSync, rmSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
import { createInterface } from "node:readline/promises"
import {
  DEVICE_PLUGINS_FOLDER,
  DEVICE_PLUGINS_SOCKET,
} from "../../../components/kubelet/devicemanager/plugin-socket.ts"
import { POD_RESOURCES_FOLDER, POD_RESOURCES_SOCKET } from "../../../components/kubelet/podresources/pod-resources.ts"
import { linksIn, removeLink } from "../../../components/kubelet/runtime/cri/files/links.ts"
import { socketAnswers } from "../../../components/kubelet/runtime/cri/socket-answers.ts"
import { kubeletRoots, madeInKubeletRoot } from "../../../components/cluster/node/kubelet-root.ts"
import { CONTAINER_LOGS, POD_LOGS } from "../../../components/kubelet/model/config.ts"
import { removeUnmounted } from "../../../components/containerd/tear-down.ts"
import { Attempts } from "../../../pkg/process/attempts.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { defineCommand } from "../cli/command.ts"
import { boolean } from "../cli/flags.ts"
import { killAll, leftBehind } from "../process/killall.ts"
import { serverFlags, configFlag, dataDirFlag, kubeconfigFlag } from "../config/server-flags.ts"
import { requireRoot } from "./killall.ts"

export default defineCommand({
  summary: "Do what killall does, and remove the cluster's data and configuration",
  flags: {
    config: configFlag(),
    "data-dir": dataDirFlag(),
    "write-kubeconfig": kubeconfigFlag(),
    "default-local-storage-path": serverFlags["default-local-storage-path"],
    "dry-run": boolean("Print what would be removed, a path on each line, and change nothing"),
    yes: boolean("Do not ask", { short: "y" }),
  },
  async run({ flags, print }) {
    requireRoot("uninstall")
    const { "data-dir": dataDir, "write-kubeconfig": kubeconfig, config } = flags
    // Only files: `--config /dev/null` names a device that the machine needs.
    const folders = [...[dataDir].filter((path) => existsSync(path)), ...[kubeconfig, config].filter(isFile)]
    if (existsSync(dataDir) && !looksLikeOurs(dataDir))
      throw new Error(
        `${dataDir} has neither a folder "server" nor "agent": it is no data directory of k3ts, so nothing was removed`,
      )
    const logs = podLogs(dataDir)
    const outside = madeInKubeletRoot(dataDir)
    if (flags["dry-run"]) {
      print([...folders, ...outside.own, ...logs].map((path) => `${path}\n`).join(""))
      return 0
    }
    if (
      !flags.yes &&
      !(await confirmed(`This stops every pod and removes ${folders.join(", ") || "what is left on the host"}. Go on?`))
    ) {
      print("Nothing was removed\n")
      return 1
    }
    const attempts = new Attempts()
    const stays = await killAll({
      dataDir,
      storage: flags["default-local-storage-path"],
      clock: realClock,
      tell: (what) => print(`${what}\n`),
    })
    // A server that was killed leaves them; another kubelet may serve them by now.
    for (const socket of SOCKETS)
      await attempts.try(socket, async () => {
        if (!(await socketAnswers(socket))) rmSync(socket, { force: true })
      })
    await attempts.try(CONTAINER_LOGS, () => removeLinks(logs))
    for (const path of [...outside.own, ...folders, ...logs]) await attempts.try(path, () => removeUnmounted(path))
    for (const folder of new Set([dirname(kubeconfig), dirname(config), ...outside.shared, ...SHARED_FOLDERS]))
      removeIfEmpty(folder)
    const removed = folders.filter((path) => !existsSync(path))
    print(`Removed ${removed.join(", ") || (folders.length === 0 ? "nothing: there was no data" : "nothing")}\n`)
    const left = [...stays, ...attempts.faults]
    print(leftBehind(left))
    return left.length === 0 ? 0 : 1
  },
})

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() === true

/** Whether a folder was made by k3ts: others are not deleted, even if a flag names them. */
const looksLikeOurs = (dataDir: string): boolean =>
  existsSync(join(dataDir, "server")) || existsSync(join(dataDir, "agent"))

/** Sockets that the kubelet serves for programs of the node. */
const SOCKETS = [join(DEVICE_PLUGINS_FOLDER, DEVICE_PLUGINS_SOCKET), join(POD_RESOURCES_FOLDER, POD_RESOURCES_SOCKET)]

/** Folders that a node, the shims of containerd and CNI plugins make, and that other programs may use too. */
const SHARED_FOLDERS = [
  ...["/run/k3ts/cni", "/run/k3ts", POD_LOGS, CONTAINER_LOGS],
  ...[DEVICE_PLUGINS_FOLDER, POD_RESOURCES_FOLDER, dirname(DEVICE_PLUGINS_FOLDER)],
  ...["/run/containerd/s", "/run/containerd", "/var/lib/cni/results", "/var/lib/cni"],
]

/** Returns the log folders of our pods, `<namespace>_<name>_<uid>`. */
function podLogs(dataDir: string): string[] {
  const uids = kubeletRoots(dataDir)
    .map((root) => join(root, "pods"))
    .flatMap((pods) => (existsSync(pods) ? readdirSync(pods) : []))
  return existsSync(POD_LOGS)
    ? readdirSync(POD_LOGS)
        .filter((name) => uids.some((uid) => name.endsWith(`_${uid}`)))
        .map((name) => join(POD_LOGS, name))
    : []
}

/** Removes the links to logs in these folders; those of other kubelets stay. */
async function removeLinks(logs: readonly string[]): Promise<void> {
  for (const [name, target] of await linksIn(CONTAINER_LOGS))
    if (logs.some((folder) => target.startsWith(`${folder}/`))) await removeLink(CONTAINER_LOGS, name, target)
}

async function confirmed(question: string): Promise<boolean> {
  if (!process.stdin.isTTY)
    throw new Error("uninstall asks before it removes anything, and there is no terminal: give --yes")
  const readline = createInterface({ input: process.stdin, output: process.stdout })
  try {
    return /^y(es)?$/i.test((await readline.question(`${question} [y/N] `)).trim())
  } finally {
    readline.close()
  }
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder)
  } catch {
    // The folder does not exist, or others use it.
  }
}
