import { expect, test } from "bun:test"
import { familyIn, findWireguard, removePeer, setDevice, setPeer } from "./wireguard.ts"

const FAMILY = 0x1d
const key = (byte: number): Buffer => Buffer.alloc(32, byte)
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")
/** A message: its length, type, flags REQUEST and ACK, sequence and port; then command, version, nothing. */
const wanted = (length: string, ...parts: readonly string[]) =>
  `${length}0000001d00050000000000` + "00000000" + "01010000" + parts.join("")

// No kernel of these tests has WireGuard: the bytes are written out from linux/wireguard.h.
test.each([
  {
    title: "sets the key and port of an interface, and removes its peers",
    given: setDevice(FAMILY, 7, key(0xaa), 51_820),
    wants: wanted(
      "50",
      "0800" + "0100" + "07000000", // WGDEVICE_A_IFINDEX
      "2400" + "0300" + "aa".repeat(32), // WGDEVICE_A_PRIVATE_KEY
      "0800" + "0500" + "01000000", // WGDEVICE_A_FLAGS: WGDEVICE_F_REPLACE_PEERS
      "0600" + "0600" + "6cca" + "0000", // WGDEVICE_A_LISTEN_PORT
    ),
  },
  {
    title: "adds a peer with ranges of both families",
    given: setPeer(FAMILY, 7, {
      publicKey: key(0xbb),
      address: "192.0.2.12",
      port: 51_820,
      ranges: ["10.42.2.0/24", "fd42:0:0:2::/64"],
      keepaliveSeconds: 25,
    }),
    wants: wanted(
      "b4",
      "0800" + "0100" + "07000000",
      "9800" + "0880", // WGDEVICE_A_PEERS, nested
      "9400" + "0080",
      "2400" + "0100" + "bb".repeat(32), // WGPEER_A_PUBLIC_KEY
      "0800" + "0300" + "02000000", // WGPEER_A_FLAGS: WGPEER_F_REPLACE_ALLOWEDIPS
      "1400" + "0400" + "0200" + "ca6c" + "c000020c" + "00".repeat(8), // WGPEER_A_ENDPOINT: sockaddr_in
      "0600" + "0500" + "1900" + "0000", // WGPEER_A_PERSISTENT_KEEPALIVE_INTERVAL
      "4800" + "0980", // WGPEER_A_ALLOWEDIPS, nested
      "1c00" + "0080" + "06000100" + "02000000" + "08000200" + "0a2a0200" + "05000300" + "18000000",
      "2800" + "0080" + "06000100" + "0a000000" + "14000200" + "fd42000000000002" + "00".repeat(8) + "0500030040000000",
    ),
  },
  {
    title: "removes a peer",
    given: removePeer(FAMILY, 7, key(0xbb)),
    wants: wanted(
      "50",
      "0800" + "0100" + "07000000",
      "3400" + "0880",
      "3000" + "0080",
      "2400" + "0100" + "bb".repeat(32),
      "0800" + "0300" + "01000000", // WGPEER_F_REMOVE_ME
    ),
  },
])("a message for WireGuard $title", ({ given, wants }) => {
  expect(hex(given)).toBe(wants)
})

test("the family id of WireGuard is requested from the kernel, and found among other attributes", () => {
  // length, GENL_ID_CTRL, REQUEST, sequence, port; CTRL_CMD_GETFAMILY; CTRL_ATTR_FAMILY_NAME
  expect(hex(findWireguard())).toBe(
    "2400000010000100" + "00".repeat(8) + "03010000" + "0e000200" + "776972656775617264000000",
  )
  const name = Buffer.from("0e000200776972656775617264000000", "hex")
  const number = Buffer.from("060001001d000000", "hex")
  const body = Buffer.concat([Buffer.from([1, 2, 0, 0]), name, number])
  expect(familyIn({ type: 0x10, sequence: 0, errno: undefined, body })).toBe(0x1d)
})
