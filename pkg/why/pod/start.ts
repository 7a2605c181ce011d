import type { Container } from "../../api/core/v1/container/container.ts"
import type { Pod } from "../../api/core/v1/pod/pod.ts"
import { finding, type Finding } from "../answer.ts"
import type { Ward } from "../doctor.ts"
import { CONFIG_MAPS, SECRETS } from "../reading/kinds.ts"

interface Failed {
  readonly exitCode?: number | undefined
  readonly reason?: string | undefined
  readonly message?: string | undefined
}

/** Returns why a program could not be started at all. */
export async function startFinding(
  pod: Pod,
  container: Container,
  { exitCode = 0, reason = "", message = "" }: Failed,
  evidence: readonly string[],
  ward: Ward,
): Promise<Finding | undefined> {
  const { name } = container
  const isStart = /StartError|ContainerCannotRun|RunContainerError|CreateContainerError/.test(reason)
  if (!isStart && !/(?:exec|executable).*(?:not found|no such file)|exec format error/i.test(message)) return undefined
  if (exitCode === 0 && !isStart) return undefined
  const program = /exec: "([^"]+)"/.exec(message)?.[1] ?? container.command?.[0] ?? ""
  if (/executable file not found|no such file or directory/i.test(message) && /exec/i.test(message))
    return finding(
      "command-not-found",
      `container ${name} cannot start: the image has no program ${JSON.stringify(program)}`,
      {
        evidence,
        hints: [
          /\s/.test(program)
            ? `command is a list of words, and ${JSON.stringify(program)} is taken as the name of one program: write each word by itself`
            : "correct command and args of the container, or the image",
        ],
      },
    )
  if (/exec format error/i.test(message))
    return finding(
      "image-platform",
      `container ${name} cannot start: its program is for another processor than the node has, or no program`,
      { evidence },
    )
  if (/permission denied/i.test(message))
    return finding(
      "command-not-executable",
      `container ${name} cannot start: ${JSON.stringify(program)} may not be executed`,
      {
        evidence,
      },
    )
  const { workingDir } = container
  if (/chdir to cwd/i.test(message) || (workingDir !== undefined && message.includes(`mkdir ${workingDir}`)))
    return finding(
      "working-directory",
      `container ${name} cannot start: its working directory ${workingDir ?? ""} cannot be entered`,
      { evidence, hints: ["correct workingDir of the container, or the image"] },
    )
  if (/not a directory|mount/i.test(message)) return mountFinding(pod, container, message, evidence, ward)
  return isStart
    ? finding("start-failed", `container ${name} cannot start: ${message || reason}`, { evidence })
    : undefined
}

/** A mount that the runtime cannot make: often a file is wanted where a subPath has made a directory. */
async function mountFinding(
  { spec, metadata }: Pod,
  { name, volumeMounts = [] }: Container,
  message: string,
  evidence: readonly string[],
  { reader }: Ward,
): Promise<Finding> {
  const mount = volumeMounts.find(({ subPath, mountPath }) => Boolean(subPath) && message.includes(`"${mountPath}"`))
  if (mount === undefined || !/not a directory|directory onto a file/i.test(message))
    return finding("mount-failed", `container ${name} cannot start: a mount failed: ${message}`, { evidence })
  const { subPath = "", mountPath } = mount
  const { configMap, secret } = spec.volumes?.find((one) => one.name === mount.name) ?? {}
  const source = configMap?.name
    ? await reader.get(CONFIG_MAPS, metadata.namespace, configMap.name).catch(() => undefined)
    : secret?.secretName
      ? await reader.get(SECRETS, metadata.namespace, secret.secretName).catch(() => undefined)
      : undefined
  const paths = (configMap ?? secret)?.items?.map(({ path }) => path) ?? Object.keys(source?.data ?? {})
  const lacks =
    source === undefined
      ? `volume ${mount.name} has no file of this name`
      : `volume ${mount.name} (${source.kind} ${source.metadata.name}) has only ${paths.join(", ") || "nothing"}`
  return finding(
    "subpath-missing",
    `container ${name} cannot start: ${mountPath} wants the file ${subPath} (subPath), ${lacks}, so that a directory is mounted onto a file`,
    { evidence, hints: ["correct subPath of the volumeMount, or add the file"] },
  )
}
