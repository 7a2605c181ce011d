import { describe, expect, test } from "bun:test"
import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import type { VolumeAttachment } from "../../../pkg/api/storage/v1/volumeattachment.ts"
import type { Informers } from "../../../pkg/client/informer.ts"
import type { ReconcileContext } from "../../../pkg/controller/controller.ts"
import { Attachments } from "./attachments.ts"
import { detachUnwanted } from "./detach.ts"

const CSI = { driver: "disks.example.com", volumeHandle: "d-1" }
const DISK = "kubernetes.io/csi/disks.example.com^d-1"
const attachment: VolumeAttachment = {
  apiVersion: "storage.k8s.io/v1",
  kind: "VolumeAttachment",
  metadata: { name: "csi-1", uid: "u" },
  spec: { attacher: CSI.driver, nodeName: "node-0", source: { persistentVolumeName: "disk" } },
  status: { attached: true },
}
/** Informers that show nothing yet. */
const late = { of: () => ({ list: () => [], by: () => [], get: () => undefined }) } as unknown as Informers

describe("while informers do not show yet what was written", () => {
  test("a volume counts as attached to the node for which an attachment was created", () => {
    // given
    const attachments = new Attachments()
    const others = () => attachments.othersWith(DISK, "node-1", late)
    attachments.made("csi-1", CSI, "node-0")
    expect(others()).toEqual(["node-0"])
    expect(attachments.othersWith(DISK, "node-0", late)).toEqual([])
    // when
    attachments.seen(attachment, true)
    // then
    expect(others()).toEqual([])
  })

  test("a volume that its node has mounted meanwhile is not detached", async () => {
    // given a Node that the API server has, and the informer has not
    const mounted = { status: { volumesInUse: [DISK] } }
    const deleted: string[] = []
    const detach = (now?: object) =>
      detachUnwanted({
        key: "node-0",
        node: undefined,
        wanted: new Map(),
        own: [{ name: DISK, attachment }],
        attachments: new Attachments(),
        context: {
          clock: { monotonic: () => 0 },
          client: {
            get: () => (now === undefined ? Promise.reject(new ApiError("NotFound", "gone")) : Promise.resolve(now)),
            delete: (_: unknown, { name }: { name: string }) => Promise.resolve(deleted.push(name)),
          },
        } as unknown as ReconcileContext,
      })
    // then
    expect([await detach(mounted), deleted]).toEqual([500, []])
    expect([await detach(), deleted]).toEqual([undefined, ["csi-1"]])
  })
})
