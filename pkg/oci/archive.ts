/**
 * Images as one tar file. It is an OCI image layout and a `docker save` archive at once, as Docker itself writes it
 * since version 25, so containerd, Docker, Podman and skopeo read it. Format: OCI image specification 1.0,
 * image-layout.md; Docker's moby image/spec v1.2 for manifest.json.
 */
import { buildImage, descriptor } from "./image.ts"
import type { Blob, Image, ImageSource } from "./image.ts"
import { writeTar } from "./tar.ts"
import type { TarEntry } from "./tar.ts"

/**
 * Builds images and packs them into one archive, which `ctr images import` and `<data-dir>/agent/images/` take. A layer
 * that several images share is stored once. The same sources give the same bytes.
 */
export function buildImageArchive(...sources: readonly ImageSource[]): Uint8Array {
  return packImageArchive(sources.map(buildImage))
}

/** Packs built images into one archive. */
function packImageArchive(images: readonly Image[]): Uint8Array {
  const blobs = new Map<string, Blob>()
  for (const { layers, config, manifest } of images) {
    for (const blob of [...layers, config, manifest]) blobs.set(blob.digest, blob)
  }
  return writeTar([
    jsonFile("oci-layout", { imageLayoutVersion: "1.0.0" }),
    jsonFile("index.json", {
      schemaVersion: 2,
      mediaType: "application/vnd.oci.image.index.v1+json",
      manifests: images.map(({ name, manifest }) => ({ ...descriptor(manifest), annotations: annotations(name) })),
    }),
    jsonFile(
      "manifest.json",
      images.map(({ name, config, layers }) => ({
        Config: blobPath(config),
        RepoTags: [name],
        Layers: layers.map(blobPath),
      })),
    ),
    { type: "directory", path: "blobs" },
    { type: "directory", path: "blobs/sha256" },
    ...[...blobs.values()].map((blob): TarEntry => ({ type: "file", path: blobPath(blob), data: blob.bytes })),
  ])
}

/** How importers learn the name: containerd reads the first, others take the tag from the second. */
function annotations(name: string): Record<string, string> {
  return {
    "io.containerd.image.name": name,
    "org.opencontainers.image.ref.name": name.slice(name.lastIndexOf(":") + 1),
  }
}

function blobPath({ digest }: Blob): string {
  return `blobs/${digest.replace(":", "/")}`
}

function jsonFile(path: string, value: object): TarEntry {
  return { type: "file", path, data: new TextEncoder().encode(JSON.stringify(value)) }
}
