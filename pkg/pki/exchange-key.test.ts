import { expect, test } from "bun:test"
import { exchangeKeyOf, newExchangeKey } from "./exchange-key.ts"

const hex = (text: string): Buffer => Buffer.from(text, "hex")

test("the public key is derived from the private key, as Bob's in RFC 7748, section 6.1", () => {
  const { publicKey } = exchangeKeyOf(hex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"))
  expect(publicKey).toEqual(hex("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"))
})

test("a generated pair is consistent, and differs from others", () => {
  const [one, other] = [newExchangeKey(), newExchangeKey()]
  expect(exchangeKeyOf(one.privateKey)).toEqual(one)
  expect(one.publicKey).not.toEqual(other.publicKey)
})
