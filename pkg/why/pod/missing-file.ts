import type { Container } from "../../api/core/v1/container/container.ts"
import type { Pod } from "../../api/core/v1/pod/pod.ts"
import type { Volume } from "../../api/core/v1/volume/volume.ts"
import { finding, type Finding } from "../answer.ts"
import type { Ward } from "../doctor.ts"
import { CONFIG_MAPS, SECRETS } from "../reading/kinds.ts"
import { containerOf } from "./container-of.ts"

/** How programs say that a file is not there. */
const NO_FILE: readonly RegExp[] = [
  /no such file or directory,? (?:open|stat|access|lstat|scandir) '(\/[^']+)'/i,
  /no such file or directory: '(\/[^']+)'/i,
  /(?:open|stat|read|load)\w*(?:\(\))?[ :]+['"]?(\/[\w./-]+)['"]?:? (?:no such file|not found|does not exist|failed \(2:)/i,
  // Python, dash and the shell of BusyBox
  /can(?:'t|not) open (?:file )?['"]?(\/[^'"\s:]+)['"]?:? (?:\[Errno 2\] )?no such file/i,
  // Node.js and Java
  /cannot find module '(\/[^']+)'/i,
  /unable to access jarfile (\/\S+)/i,
  /(?:^|[\s'"(:])(\/[\w./-]+)['"]?:? (?:\()?no such file or directory/i,
]

/**
 * Returns that a program looks for a file in a volume which has none of this name; undefined where a line does not say
 * so.
 */
export async function missingFileFinding(
  pod: Pod,
  containerName: string,
  line: string,
  ward: Ward,
): Promise<Finding | undefined> {
  const path = NO_FILE.map((pattern) => pattern.exec(line)?.[1]).find((one) => one !== undefined)
  const hiding = path === undefined ? undefined : hidingVolume(pod, containerOf(pod, containerName), path)
  if (path === undefined || hiding === undefined) return undefined
  const { mountPath, volume } = hiding
  const evidence = [`log of ${containerName}: ${line.trim()}`]
  const wants = `the program of container ${containerName} wants the file ${path}`
  const mounted = "which is mounted at " + mountPath
  const source = await filesOf(pod, volume, ward)
  const wanted = path.slice(mountPath.replace(/\/$/, "").length + 1)
  if (source?.files.includes(wanted) === true) return undefined
  if (source !== undefined)
    return finding(
      "file-missing",
      `${wants}: volume ${volume.name} (${source.of}), ${mounted}, has ` +
        (source.files.length === 0 ? "no file" : `only ${source.files.join(", ")}`),
      {
        evidence,
        hints: [
          `add ${wanted} to ${source.of}, or name another path in items of the volume; ` +
            "a volume hides what the image has in its folder",
        ],
      },
    )
  const kept = keptBy(volume)
  if (kept === undefined) return undefined
  return finding(
    "file-missing",
    `${wants}: ${kept}, ${mounted}, does not have it, and hides what the image has there`,
    {
      evidence,
      hints: [
        "mount the volume at another path, or only its part by subPath; or write the file into it before, in an init container",
      ],
    },
  )
}

interface Hiding {
  readonly mountPath: string
  readonly volume: Volume
}

/** Returns the volume that is mounted where a path is, and hides what the image has there. */
export function hidingVolume(pod: Pod, container: Container | undefined, path: string): Hiding | undefined {
  const mount = container?.volumeMounts
    ?.filter(({ mountPath }) => path.startsWith(`${mountPath.replace(/\/$/, "")}/`))
    .toSorted((a, b) => b.mountPath.length - a.mountPath.length)[0]
  const volume = pod.spec.volumes?.find(({ name }) => name === mount?.name)
  return mount === undefined || volume === undefined || mount.subPath
    ? undefined
    : { mountPath: mount.mountPath, volume }
}

/** Names a volume that keeps files of programs. */
export function keptBy({ name, emptyDir, persistentVolumeClaim: claim, hostPath }: Volume): string | undefined {
  if (emptyDir !== undefined) return `volume ${name} (emptyDir, which begins empty)`
  if (claim !== undefined) return `volume ${name} (claim ${claim.claimName})`
  return hostPath === undefined ? undefined : `volume ${name} (folder ${hostPath.path} of the node)`
}

/** Returns the files of a volume that an object of the API fills; undefined for others, and where it cannot be read. */
export async function filesOf({ metadata: { namespace } }: Pod, { configMap, secret }: Volume, { reader }: Ward) {
  const name = configMap?.name ?? secret?.secretName
  if (name === undefined || name === "") return undefined
  const kind = configMap === undefined ? SECRETS : CONFIG_MAPS
  const object = await reader.get(kind, namespace, name).catch(() => undefined)
  if (object === undefined) return undefined
  const { data = {}, binaryData = {} } = object as unknown as Record<"data" | "binaryData", Record<string, string>>
  const keys = [...Object.keys(data), ...Object.keys(binaryData)]
  const items = (configMap ?? secret)?.items ?? []
  const files = items.length === 0 ? keys : items.map(({ path }) => path)
  return { of: `${kind.kind} ${name}`, files }
}
