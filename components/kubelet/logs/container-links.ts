import { basename, dirname } from "node:path"
import type { KubeletContext } from "../context.ts"
import { podLogFolder } from "../model/pod-paths.ts"
import type { PodIdentity } from "../model/pod-identity.ts"
import type { RuntimeContainer } from "../model/runtime-pod.ts"

/*
 * The links in /var/log/containers, by which log collectors find the log of each container and read from its name whose
 * it is. A link is no condition of a container's start: what fails here is logged.
 */

const SUFFIX = ".log"
/** The longest name of a file on ext4. */
const LONGEST_NAME = 255

type Logged = Pick<RuntimeContainer, "id" | "pod" | "name" | "logPath">

/** Returns a link's name. Source: pkg/kubelet/kuberuntime/legacy.go logSymlink. */
export const linkName = ({ id, pod, name }: Omit<Logged, "logPath">): string =>
  `${pod.name}_${pod.namespace}_${name}-${id}`.slice(0, LONGEST_NAME - SUFFIX.length) + SUFFIX

/**
 * Makes the link of a container. Differs from upstream: a link whose log is gone gives way. One whose log is there
 * stays, since long names are cut and may be those of a pod of another namespace.
 */
export async function linkLog(context: KubeletContext, run: Logged): Promise<void> {
  const { config, runtime, log } = context
  const { containerLogs: folder } = config
  if (folder === undefined || run.logPath === "") return
  const { files } = runtime
  const name = linkName(run)
  try {
    let other = await files.link(folder, name, run.logPath)
    if (other?.startsWith(`${config.podLogs}/`) === true && (await isGone(context, other))) {
      await files.unlink(folder, name, other)
      other = await files.link(folder, name, run.logPath)
    }
    if (other !== undefined)
      log.warn("Left a container's log without a link, whose name is taken", { link: `${folder}/${name}`, by: other })
  } catch (err) {
    log.warn("Failed to link the log of a container", { link: `${folder}/${name}`, err })
  }
}

/** Removes the link of a container that is removed. */
export async function unlinkLog({ config, runtime, log }: KubeletContext, run: Logged): Promise<void> {
  const { containerLogs: folder } = config
  if (folder === undefined || run.logPath === "") return
  try {
    await runtime.files.unlink(folder, linkName(run), run.logPath)
  } catch (err) {
    log.warn("Failed to remove the link to a container's log", { link: `${folder}/${linkName(run)}`, err })
  }
}

/** Removes all links to the logs of a pod, also those of containers that other programs have removed. */
export const unlinkLogsOfPod = (context: KubeletContext, pod: PodIdentity): Promise<void> => {
  const below = `${podLogFolder(context.config, pod)}/`
  return removeLinks(context, (target) => target.startsWith(below))
}

/** Makes the links that are missing, and removes those to logs that are gone. Called at the kubelet's start. */
export async function repairLinks(context: KubeletContext, runs: () => readonly Logged[]): Promise<void> {
  const { containerLogs: folder, podLogs } = context.config
  if (folder === undefined) return
  await removeLinks(
    context,
    async (target) =>
      target.startsWith(`${podLogs}/`) &&
      !runs().some(({ logPath }) => logPath === target) &&
      (await isGone(context, target)),
  )
  for (const run of runs()) await linkLog(context, run)
}

async function removeLinks(
  { config, runtime, log }: KubeletContext,
  isOld: (target: string) => boolean | Promise<boolean>,
): Promise<void> {
  const { containerLogs: folder } = config
  if (folder === undefined) return
  try {
    for (const [name, target] of await runtime.files.links(folder))
      if (await isOld(target)) await runtime.files.unlink(folder, name, target)
  } catch (err) {
    log.warn("Failed to remove links to the logs of containers", { folder, err })
  }
}

/** Whether a log is gone, and is not only being rotated, for which it is away for a moment. */
async function isGone({ runtime }: KubeletContext, path: string): Promise<boolean> {
  const name = basename(path)
  return !(await runtime.files.list(dirname(path))).some((other) => other === name || other.startsWith(`${name}.`))
}
