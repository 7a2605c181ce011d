/**
 * Container images made of bytes, without a builder, a registry or a root file system: the pause image that the kubelet
 * carries, and the images of the examples and tests. Layers are uncompressed: they are unpacked on this machine at
 * once. Format: OCI image specification 1.0, config.md and manifest.md.
 */
import { createHash } from "node:crypto"
import { arch } from "node:process"
import { writeTar } from "./tar.ts"
import type { TarEntry } from "./tar.ts"

/**
 * What a container of the image runs when the pod says nothing else. Fields and their spelling are those of the OCI
 * config.
 */
export interface ImageConfig {
  readonly User?: string
  /** Keys like "80/tcp". */
  readonly ExposedPorts?: Readonly<Record<string, Readonly<Record<string, never>>>>
  /** Entries like "PATH=/bin". */
  readonly Env?: readonly string[]
  readonly Entrypoint?: readonly string[]
  readonly Cmd?: readonly string[]
  readonly WorkingDir?: string
  readonly Labels?: Readonly<Record<string, string>>
  readonly StopSignal?: string
}

/** One layer: its entries are written in the order given. */
export interface LayerSource {
  readonly files: readonly TarEntry[]
}

/** An image to be built. `name` is a full reference with a tag, like "k3ts.local/web:1". */
export interface ImageSource {
  readonly name: string
  readonly layers: readonly LayerSource[]
  readonly config: ImageConfig
  /** Go's name of the processor, like "amd64" or "arm64". Defaults to this machine's. */
  readonly architecture?: string
}

/** Bytes with what refers to them. `digest` is "sha256:" and 64 hexadecimal digits. */
export interface Blob {
  readonly mediaType: string
  readonly digest: string
  readonly bytes: Uint8Array
}

/** A built image: what a registry stores, in the order to upload it. */
export interface Image {
  readonly name: string
  readonly layers: readonly Blob[]
  readonly config: Blob
  readonly manifest: Blob
}

const MEDIA_TYPE = {
  layer: "application/vnd.oci.image.layer.v1.tar",
  config: "application/vnd.oci.image.config.v1+json",
  manifest: "application/vnd.oci.image.manifest.v1+json",
} as const

const encoder = new TextEncoder()

/** Builds the blobs of an image. The same source gives the same digests. Throws RangeError for a name without a tag. */
export function buildImage({ name, layers, config, architecture = machineArchitecture() }: ImageSource): Image {
  if (!/^[^\s@]+\/[^\s@:/]+:[\w.-]+$/.test(name)) {
    throw new RangeError(`Cannot build image: expected a name like "k3ts.local/web:1", got "${name}"`)
  }
  const layerBlobs = layers.map(({ files }) => blob(MEDIA_TYPE.layer, writeTar(files)))
  const configBlob = jsonBlob(MEDIA_TYPE.config, {
    created: "1970-01-01T00:00:00Z", // a date would change the digest
    architecture,
    os: "linux",
    config,
    rootfs: { type: "layers", diff_ids: layerBlobs.map((layer) => layer.digest) },
    history: layerBlobs.map(() => ({ created: "1970-01-01T00:00:00Z", created_by: "k3ts" })),
  })
  const manifest = jsonBlob(MEDIA_TYPE.manifest, {
    schemaVersion: 2,
    mediaType: MEDIA_TYPE.manifest,
    config: descriptor(configBlob),
    layers: layerBlobs.map(descriptor),
  })
  return { name, layers: layerBlobs, config: configBlob, manifest }
}

/** How one blob refers to another. */
export function descriptor({ mediaType, digest, bytes }: Blob): { mediaType: string; digest: string; size: number } {
  return { mediaType, digest, size: bytes.length }
}

function blob(mediaType: string, bytes: Uint8Array): Blob {
  return { mediaType, bytes, digest: `sha256:${createHash("sha256").update(bytes).digest("hex")}` }
}

function jsonBlob(mediaType: string, value: object): Blob {
  return blob(mediaType, encoder.encode(JSON.stringify(value)))
}

/** Go's name of this processor, which images use, from Node's. */
function machineArchitecture(): string {
  const names: Readonly<Record<string, string>> = { x64: "amd64", ia32: "386" }
  return names[arch] ?? arch
}
