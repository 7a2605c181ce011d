import type { Container } from "../../api/core/v1/container/container.ts"
import type { Pod } from "../../api/core/v1/pod/pod.ts"
import { finding, type Finding } from "../answer.ts"
import type { Ward } from "../doctor.ts"
import { CONFIG_MAPS, SECRETS } from "../reading/kinds.ts"
import { filesOf, hidingVolume } from "./missing-file.ts"

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
  // Before a program is looked for, the runtime enters the working directory and becomes the user.
  const before = beforeProgramFinding(container, message, evidence)
  if (before !== undefined) return before
  const script = /exec (\/[^\s:"]+): no such file or directory/.exec(message)?.[1]
  if (script !== undefined) return interpreterFinding(name, script, evidence)
  const isAbsent = /executable file not found|no such file or directory/i.test(message) && /exec/i.test(message)
  const hiding = isAbsent ? hidingVolume(pod, container, program) : undefined
  const source = hiding === undefined ? undefined : await filesOf(pod, hiding.volume, ward)
  if (hiding !== undefined)
    return finding(
      "command-hidden",
      `container ${name} cannot start: its program ${program} is not there, because volume ${hiding.volume.name}` +
        `${source === undefined ? "" : ` (${source.of}), which has ${source.files.length === 0 ? "no file" : `only ${source.files.join(", ")}`},`} ` +
        `is mounted at ${hiding.mountPath} and hides what the image has there`,
      { evidence, hints: ["mount the volume at another path, or only its part by subPath"] },
    )
  if (isAbsent)
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
  if (/exec format error/i.test(message)) return platformFinding(name, evidence)
  if (/permission denied/i.test(message))
    return finding(
      "command-not-executable",
      `container ${name} cannot start: ${JSON.stringify(program)} may not be executed`,
      {
        evidence,
        hints: ["make it executable in the image (chmod +x), or have its interpreter run it; see runAsUser, too"],
      },
    )
  if (/not a directory|mount/i.test(message)) return mountFinding(pod, container, message, evidence, ward)
  return isStart
    ? finding("start-failed", `container ${name} cannot start: ${message || reason}`, { evidence })
    : undefined
}

/** Returns why the runtime does not get as far as the program. */
function beforeProgramFinding(
  { name, workingDir, resources }: Container,
  message: string,
  evidence: readonly string[],
): Finding | undefined {
  if (/init was OOM-killed|memory limit too low/i.test(message)) return memoryFinding(name, resources, evidence)
  const entered = /chdir to cwd \("([^"]+)"\)/i.exec(message)?.[1]
  if (entered !== undefined || (workingDir !== undefined && message.includes(`mkdir ${workingDir}`)))
    return finding(
      "working-directory",
      `container ${name} cannot start: its working directory ${entered ?? workingDir ?? ""} cannot be entered` +
        (/permission denied/i.test(message) ? ": its user may not" : ""),
      { evidence, hints: ["correct workingDir and runAsUser of the container, or the image"] },
    )
  const [, what, who] = /unable to find (user|group) ([^\s:]+): no matching entries/.exec(message) ?? []
  if (what !== undefined)
    return finding("user-missing", `container ${name} cannot start: its image has no ${what} ${JSON.stringify(who)}`, {
      evidence,
      hints: ["correct USER of the image, or set runAsUser to a number"],
    })
  const profile = /(?:apparmor|seccomp)[^\n]*/i.exec(message)?.[0]
  if (profile !== undefined && /not (?:loaded|found)|no such file|cannot load|unable to/i.test(message))
    return finding(
      "security-profile-missing",
      `container ${name} cannot start: its node does not have the profile that it names: ${profile}`,
      { evidence, hints: ["put the profile on each node, or choose RuntimeDefault"] },
    )
  return undefined
}

/** Returns that the memory limit of a container is too low for the runtime to start it. */
export function memoryFinding(name: string, resources: Container["resources"], evidence: readonly string[]): Finding {
  const limit = resources?.limits?.["memory"]
  const number = /^(\d+)(m?)$/.exec(limit ?? "")
  const unit = number?.[2] === "m" ? "thousandths of bytes" : "bytes"
  const bytes = number === null ? "" : `: ${limit} are ${unit}, and perhaps ${number[1]!}Mi is meant`
  return finding(
    "memory-limit-too-low",
    `container ${name} cannot start: its memory limit${limit === undefined ? "" : ` of ${limit}`} is too low for any ` +
      "program to start in it",
    { evidence, hints: [`raise the memory limit${bytes}`] },
  )
}

/** Returns that a program is there and what runs it is not. */
export const interpreterFinding = (container: string, program: string, evidence: readonly string[]): Finding =>
  finding(
    "interpreter-missing",
    `container ${container} cannot start: ${program} is there, and what runs it is not: ` +
      "the interpreter of its first line, or the loader of its libraries",
    {
      evidence,
      hints: [
        "a script with Windows line ends asks for an interpreter whose name ends with a carriage return; " +
          "an image without glibc does not run what was linked with it",
      ],
    },
  )

/** Returns that a program is of another processor. */
export const platformFinding = (container: string, evidence: readonly string[]): Finding =>
  finding(
    "image-platform",
    `container ${container} cannot start: its program is for another processor than the node has, or no program`,
    { evidence },
  )

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
