import { join } from "node:path"
import { BUSYBOX } from "../../../harness/cluster.ts"
import type { ContainerSpec, PodSpec } from "../namespace.ts"

const ROOT = join(import.meta.dirname, "../../../..")
/** Bun and the libraries that it is linked with are the machine's: an image of them would be 100 MB. */
const FOLDERS = [
  { name: "repository", path: ROOT },
  { name: "lib", path: "/lib" },
  { name: "lib64", path: "/lib64" },
]

/** The volumes that a pod needs whose containers run programs of this folder. */
export const programVolumes: NonNullable<PodSpec["volumes"]> = FOLDERS.map(({ name, path }) => ({
  name,
  hostPath: { path, type: "Directory" as const },
}))

/** A container that runs a program of this folder. */
export function program(file: string, env: Readonly<Record<string, string>> = {}): Partial<ContainerSpec> {
  return {
    image: BUSYBOX,
    command: [process.execPath, join(import.meta.dirname, file)],
    env: Object.entries(env).map(([name, value]) => ({ name, value })),
    volumeMounts: FOLDERS.map(({ name, path }) => ({ name, mountPath: path, readOnly: true })),
  }
}

/** Ready when the program answers over HTTP. */
export const answersHttp = (port = 8080): Partial<ContainerSpec> => ({
  readinessProbe: { httpGet: { path: "/hostname", port }, periodSeconds: 1 },
})
/** The server that most stand-ins about networks use, like agnhost's `netexec`. */
export const netexec = (env: Readonly<Record<string, string>> = {}): Partial<ContainerSpec> => ({
  ...program("netexec.ts", env),
  ...answersHttp(Number(env["HTTP_PORT"] ?? 8080)),
})
