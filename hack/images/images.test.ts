import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { execFile } from "node:child_process"
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { EXAMPLE_IMAGES } from "../../components/containerd/images/example-images.ts"
import { buildImage } from "../../pkg/oci/image.ts"
import { busyboxImage, exampleArchive, webImage } from "./images.ts"

const hasBusybox = existsSync("/bin/busybox")
if (!hasBusybox) console.warn("SKIPPED: the images are made of /bin/busybox, which is missing; run hack/setup.sh")

describe.skipIf(!hasBusybox)("the images of the examples and tests", () => {
  test("have a shell and the commands that kubectl exec and cp need", () => {
    const paths = busyboxImage().layers.flatMap(({ files }) => files.map(({ path }) => path))
    expect(paths).toEqual(expect.arrayContaining(["bin/busybox", "bin/sh", "bin/tar", "usr/bin/wget", "tmp"]))
  })

  test("are packed under the names by which the program reads them from the executable", () => {
    const archive = Buffer.from(exampleArchive()).toString("latin1")
    const names = [...archive.matchAll(/"io\.containerd\.image\.name":"([^"]+)"/g)].map(([, name]) => name!)
    expect(names).toEqual([...EXAMPLE_IMAGES])
  })

  test("share the layer with busybox, and differ between versions", () => {
    // given the images
    const [busybox, first, second] = [busyboxImage(), webImage("1"), webImage("2")].map(buildImage)

    // then the big layer is one
    expect(first!.layers[0]!.digest).toBe(busybox!.layers[0]!.digest)
    expect(second!.layers[0]!.digest).toBe(busybox!.layers[0]!.digest)
    // and a rolling update from one version to the next changes the image
    expect(second!.manifest.digest).not.toBe(first!.manifest.digest)
  })
})

describe.skipIf(!hasBusybox)("wget in the image", () => {
  let root: string
  const server = createServer(({ url }, response) => (url === "/slow" ? response.write("x") : response.end("hello")))
  const address = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  beforeAll(async () => {
    root = mkdtempSync(join(tmpdir(), "k3ts-image-"))
    for (const { files } of busyboxImage().layers)
      for (const entry of files) {
        const path = join(root, entry.path)
        mkdirSync(dirname(path), { recursive: true })
        if (entry.type === "file") writeFileSync(path, entry.data)
        if (entry.type === "file") chmodSync(path, entry.mode ?? 0o644)
        if (entry.type === "symlink" && entry.target === "/bin/busybox") symlinkSync(join(root, "bin/busybox"), path)
      }
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  })
  afterAll(() => {
    server.closeAllConnections()
    server.close()
    rmSync(root, { recursive: true })
  })

  /** What a shell of the image prints, and how it ends. */
  const sh = (script: string) =>
    new Promise<string>((resolve) => {
      const env = { PATH: `${root}/bin:${root}/usr/bin` }
      execFile(join(root, "bin/ash"), ["-c", script], { env }, (err, out, complaint) =>
        resolve(`${out}${complaint}${err === null ? "" : `, code ${err.code ?? err.signal}`}`),
      )
    })

  test.each(["-T 3", "-qT3 -T 3", "-q -T3", "--timeout 3", "--timeout=3", "-U T1", ""])(
    "loads a page, with or without a time limit: %p",
    async (flags) => {
      expect(await sh(`wget ${flags} -q -O - ${address()}/`)).toBe("hello")
    },
  )

  test("ends after the time limit", async () => {
    expect(await sh(`wget -T 1 -q -O - ${address()}/slow`)).toBe("xwget: download timed out\n, code 1")
  })

  test("prints the error, with its own exit code", async () => {
    expect(await sh("wget -T 5 -q -O - http://127.0.0.1:1/")).toContain("can't connect to remote host")
  })

  test("does not crash with a time limit when busybox is called by its own name", async () => {
    expect(await sh(`${root}/bin/busybox wget -T 3 -q -O - ${address()}/`)).toBe("hello")
  })
})
