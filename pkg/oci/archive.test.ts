import { describe, expect, test } from "bun:test"
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { gunzipSync } from "node:zlib"
import { buildImageArchive, buildMultiPlatformArchive } from "./archive.ts"
import { buildImage } from "./image.ts"
import type { ImageSource } from "./image.ts"

const bytes = (text: string) => new TextEncoder().encode(text)

const base = { files: [{ type: "file", path: "bin/tool", data: bytes("tool"), mode: 0o755 }] } as const
const image = (name: string, text: string): ImageSource => ({
  name,
  layers: [base, { files: [{ type: "file", path: "etc/text", data: bytes(text) }] }],
  config: { Entrypoint: ["/bin/tool"], Env: ["A=1"] },
  architecture: "amd64",
})

const read = (archive: Uint8Array, path: string) => execFileSync("tar", ["-xOf", "-", path], { input: archive })
const readJson = (archive: Uint8Array, path: string): unknown => JSON.parse(read(archive, path).toString())
const names = (archive: Uint8Array) =>
  execFileSync("tar", ["-tf", "-"], { input: archive, encoding: "utf8" }).trimEnd().split("\n")

describe("buildImageArchive", () => {
  test("names every blob by its digest", () => {
    // given an archive
    const archive = buildImageArchive(image("k3ts.local/a:1", "one"))

    // when its blobs are read
    const blobs = names(archive).filter((name) => /^blobs\/sha256\/./.test(name))

    // then there are two layers, a config and a manifest, each under its own digest
    expect(blobs).toHaveLength(4)
    for (const path of blobs) {
      expect(path).toBe(`blobs/sha256/${createHash("sha256").update(read(archive, path)).digest("hex")}`)
    }
  })

  test("is both an OCI layout and a docker archive of the same image", () => {
    // given an image and its archive
    const source = image("k3ts.local/a:1", "one")
    const { manifest, config, layers } = buildImage(source)
    const archive = buildImageArchive(source)
    const path = (digest: string) => `blobs/${digest.replace(":", "/")}`

    // then the OCI index leads to the manifest, under the name that containerd reads
    expect(readJson(archive, "index.json")).toMatchObject({
      manifests: [
        {
          digest: manifest.digest,
          size: manifest.bytes.length,
          annotations: { "io.containerd.image.name": "k3ts.local/a:1" },
        },
      ],
    })
    // and docker's list leads to the same config and layers
    expect(readJson(archive, "manifest.json")).toEqual([
      { Config: path(config.digest), RepoTags: ["k3ts.local/a:1"], Layers: layers.map(({ digest }) => path(digest)) },
    ])
    // and the config says what to run, and which layers it belongs to
    expect(readJson(archive, path(config.digest))).toMatchObject({
      os: "linux",
      architecture: "amd64",
      config: { Entrypoint: ["/bin/tool"], Env: ["A=1"] },
      rootfs: { type: "layers", diff_ids: layers.map(({ digest }) => digest) },
    })
  })

  test("stores a layer of several images once", () => {
    const archive = buildImageArchive(image("k3ts.local/a:1", "one"), image("k3ts.local/a:2", "two"))

    // then seven blobs: the shared layer, and for each image a layer, a config and a manifest
    expect(names(archive).filter((name) => /^blobs\/sha256\/./.test(name))).toHaveLength(7)
  })

  test("has the same bytes for the same source", () => {
    expect(buildImageArchive(image("k3ts.local/a:1", "one"))).toEqual(buildImageArchive(image("k3ts.local/a:1", "one")))
  })

  test.each(["web", "web:1", "k3ts.local/web", "k3ts.local/web@sha256:00", "k3ts.local/web:a b"])(
    "refuses the name %p",
    (name) => {
      expect(() => buildImageArchive(image(name, "one"))).toThrow(`got "${name}"`)
    },
  )
})

describe("buildMultiPlatformArchive", () => {
  const forArchitecture = (architecture: string): ImageSource => ({
    ...image("k3ts.local/a:1", architecture),
    architecture,
  })
  const path = (digest: string) => `blobs/${digest.replace(":", "/")}`

  test("has one name with a manifest for each architecture", () => {
    // given an archive for two processors
    const sources = [forArchitecture("amd64"), forArchitecture("arm64")]
    const archive = buildMultiPlatformArchive(sources)
    // when its index is read
    const { manifests } = readJson(archive, "index.json") as { manifests: { digest: string }[] }
    // then it names one image, which is a list by processors
    expect(manifests).toMatchObject([
      {
        mediaType: "application/vnd.oci.image.index.v1+json",
        annotations: { "io.containerd.image.name": "k3ts.local/a:1" },
      },
    ])
    expect(readJson(archive, path(manifests[0]!.digest))).toMatchObject({
      manifests: sources.map((source) => ({
        digest: buildImage(source).manifest.digest,
        platform: { architecture: source.architecture, os: "linux" },
      })),
    })
    // and everything that the manifests name is there
    for (const { layers, config, manifest } of sources.map(buildImage))
      for (const { digest } of [...layers, config, manifest]) expect(names(archive)).toContain(path(digest))
  })

  test.each([
    { title: "with several names", second: { ...forArchitecture("arm64"), name: "k3ts.local/b:1" } },
    { title: "without an architecture", second: { name: "k3ts.local/a:1", layers: [], config: {} } },
  ])("refuses sources $title", ({ second }) => {
    expect(() => buildMultiPlatformArchive([forArchitecture("amd64"), second])).toThrow(
      "expected sources of the same name",
    )
  })
})

test("a gzip layer has the digest of its content in the config, and its own digest in the manifest", () => {
  // given a layer in gzip, and the same as it is
  const source = image("k3ts.local/a:1", "one")
  const plain = buildImage(source)
  const zipped = buildImage({ ...source, layers: source.layers.map((layer) => ({ ...layer, gzip: true })) })
  // then they unpack to the same
  for (const [i, layer] of zipped.layers.entries()) {
    expect(layer.mediaType).toEndWith("tar+gzip")
    expect(gunzipSync(layer.bytes)).toEqual(Buffer.from(plain.layers[i]!.bytes))
    expect(layer.digest).toBe(`sha256:${createHash("sha256").update(layer.bytes).digest("hex")}`)
  }
  expect(zipped.config.digest).toBe(plain.config.digest)
  expect(zipped.manifest.digest).not.toBe(plain.manifest.digest)
})
