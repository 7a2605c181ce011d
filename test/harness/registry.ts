/** A real registry of images, and how an image comes into it. */
import { freePort } from "../../pkg/runtime/free-port.fixtures.ts"
import { expect } from "bun:test"
import { spawn, spawnSync, type ChildProcess } from "node:child_process"
import { createHash } from "node:crypto"
import { once } from "node:events"
import { mkdirSync, writeFileSync } from "node:fs"
import { connect } from "node:net"
import { join } from "node:path"
import { busyboxImage } from "../../hack/images/images.ts"
import { buildImageArchive } from "../../pkg/oci/archive.ts"
import type { ImageSource } from "../../pkg/oci/image.ts"

export const hasRegistry = spawnSync("sh", ["-c", "command -v docker-registry"]).status === 0
if (!hasRegistry) console.warn("!!! SKIPPED: pulling from a registry: needs docker-registry (hack/setup.sh --test)")

export interface Login {
  readonly user: string
  readonly password: string
}

export interface RegistryOptions {
  /** Has its configuration, and its images unless `data` says where they are. */
  readonly folder: string
  readonly data?: string
  readonly login?: Login | undefined
  /** A free one otherwise. */
  readonly port?: number
  /** Files in PEM; without them it speaks plain HTTP. `clientCa` asks clients for certificates. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly clientCa?: string | undefined } | undefined
}

/** Debian's docker-registry, on a port of loopback. */
export async function startRegistry({
  folder,
  data = join(folder, "data"),
  login,
  port: wanted,
  tls,
}: RegistryOptions): Promise<AsyncDisposable & { readonly port: number }> {
  mkdirSync(folder, { recursive: true })
  const port = wanted ?? (await freePort())
  if (login !== undefined)
    writeFileSync(
      join(folder, "htpasswd"),
      `${login.user}:${await Bun.password.hash(login.password, { algorithm: "bcrypt", cost: 4 })}\n`,
    )
  const config = {
    version: 0.1,
    log: { level: "error" },
    storage: { filesystem: { rootdirectory: data } },
    http: {
      addr: `127.0.0.1:${port}`,
      ...(tls === undefined
        ? {}
        : {
            tls: {
              certificate: tls.cert,
              key: tls.key,
              ...(tls.clientCa === undefined ? {} : { clientcas: [tls.clientCa] }),
            },
          }),
    },
    ...(login === undefined ? {} : { auth: { htpasswd: { realm: "test", path: join(folder, "htpasswd") } } }),
  }
  // JSON is YAML.
  writeFileSync(join(folder, "config.yml"), JSON.stringify(config))
  const child: ChildProcess = spawn("docker-registry", ["serve", join(folder, "config.yml")], { stdio: "ignore" })
  while (!(await answers(port))) {
    if (child.exitCode !== null) throw new Error(`docker-registry ended with ${child.exitCode}`)
    await Bun.sleep(10)
  }
  return {
    port,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL")
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit")
    },
  }
}

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port })
    socket.once("connect", () => (socket.destroy(), resolve(true)))
    socket.once("error", () => resolve(false))
  })

/**
 * Uploads an image, busybox if none is given, by the registry's own protocol: the blobs of an OCI archive, then its
 * manifest. Source: distribution-spec.
 */
export async function push(
  registry: string,
  name: string,
  tag: string,
  login?: Login,
  image: ImageSource = busyboxImage("x/y:1"),
): Promise<void> {
  const files = untar(buildImageArchive(image))
  const headers = login === undefined ? {} : { authorization: `Basic ${btoa(`${login.user}:${login.password}`)}` }
  const index = JSON.parse(Buffer.from(files.get("index.json")!).toString()) as {
    manifests: { digest: string; mediaType: string }[]
  }
  const { digest, mediaType } = index.manifests[0]!
  const blob = (of: string) => files.get(`blobs/${of.replace(":", "/")}`)!
  const manifest = JSON.parse(Buffer.from(blob(digest)).toString()) as {
    config: { digest: string }
    layers: { digest: string }[]
  }
  const expectOk = async (response: Response) => {
    if (!response.ok) throw new Error(`The registry answered ${response.status}: ${await response.text()}`)
    return response
  }
  for (const { digest } of [manifest.config, ...manifest.layers]) {
    const bytes = blob(digest)
    expect(`sha256:${createHash("sha256").update(bytes).digest("hex")}`).toBe(digest)
    const { headers: answered } = await expectOk(
      await fetch(`http://${registry}/v2/${name}/blobs/uploads/`, { method: "POST", headers }),
    )
    const place = new URL(answered.get("location")!, `http://${registry}`)
    place.searchParams.set("digest", digest)
    await expectOk(
      await fetch(place, {
        method: "PUT",
        headers: { ...headers, "content-type": "application/octet-stream" },
        body: Buffer.from(bytes),
      }),
    )
  }
  await expectOk(
    await fetch(`http://${registry}/v2/${name}/manifests/${tag}`, {
      method: "PUT",
      headers: { ...headers, "content-type": mediaType },
      body: Buffer.from(blob(digest)),
    }),
  )
}

/** The files of a plain tar archive. */
function untar(archive: Uint8Array): Map<string, Uint8Array> {
  const files = new Map<string, Uint8Array>()
  const text = (from: number, length: number) =>
    Buffer.from(archive.subarray(from, from + length))
      .toString()
      .replace(/\0.*$/s, "")
  for (let at = 0; at + 512 <= archive.length && archive[at] !== 0;) {
    const size = parseInt(text(at + 124, 12), 8)
    files.set(text(at, 100), archive.subarray(at + 512, at + 512 + size))
    at += 512 + Math.ceil(size / 512) * 512
  }
  return files
}
