import type { Channel } from "../../../../pkg/cri/channel.ts"
import { Decrypt, Encrypt, Status } from "./service.ts"

/** A KMS for tests: it "encrypts" by turning every bit of a seed, and answers wrongly where a test says so. */
export class FakeKms {
  readonly calls: string[] = []
  keyId = "key-1"
  /** Makes every call fail. */
  fault: (() => Error) | undefined
  /** Fields that replace those of the answers. */
  status: object = {}
  encrypted: object = {}
  decrypted: object = {}

  /** @throws what a plugin's answer is instead of a message */
  answer(path: string, request: { readonly plaintext?: Uint8Array; readonly ciphertext?: Uint8Array }): object {
    this.calls.push(path.slice(path.lastIndexOf("/") + 1))
    if (this.fault !== undefined) throw this.fault()
    if (path === Status.path) return { version: "v2", healthz: "ok", keyId: this.keyId, ...this.status }
    if (path === Decrypt.path) return { plaintext: turned(request.ciphertext), ...this.decrypted }
    const annotations = { "kms.example.com": Buffer.from("note") }
    return { ciphertext: turned(request.plaintext), keyId: this.keyId, annotations, ...this.encrypted }
  }

  get channel(): Channel {
    return {
      // The messages are as they would be decoded.
      call: (rpc, request) =>
        Promise.resolve().then(
          () => rpc.response.decode(rpc.response.encode(this.answer(rpc.path, request as object) as never)) as never,
        ),
      stream: () => {
        throw new Error("The service has no streams")
      },
      followConnection: () => undefined,
      close: () => undefined,
    }
  }
}

export const KMS_SERVICE = [Status, Decrypt, Encrypt]

const turned = (bytes: Uint8Array = new Uint8Array()): Uint8Array => bytes.map((octet) => octet ^ 0xff)
