import { describe, expect, test } from "bun:test"
import { valueInEnvFile } from "./env-file.ts"

/** A file that counts how much of it was read. */
function fileOf(bytes: Uint8Array) {
  const file = {
    taken: 0,
    read: async (offset: number, length: number) => {
      const part = bytes.subarray(offset, offset + length)
      file.taken += part.length
      return part
    },
  }
  return file
}
const value = (text: string, key: string) => valueInEnvFile(fileOf(Buffer.from(text)), key)

describe("the value of a key in a file of variables", () => {
  const rows = [
    { text: "A='1'\nB='2'\n", key: "B", is: "2" },
    { text: "A='1'\r\nB='2'\r\n", key: "A", is: "1" },
    { text: "A='x=y $HOME \\n'", key: "A", is: "x=y $HOME \\n" },
    { text: "# A='0'\n\n \t A='1' # one", key: "A", is: "1" },
    { text: "A='1'\nA='2'", key: "A", is: "1" },
    { text: "A='one\ntwo\n'\nB='3'", key: "A", is: "one\ntwo\n" },
    { text: "A='one\n#two'\nB='3'", key: "B", is: "3" },
    { text: "A=''", key: "A", is: "" },
    { text: "A= 'x'", key: "A", is: "" },
    { text: "A='1'", key: "B", is: "" },
    { text: "", key: "A", is: "" },
    // The text after the key is not parsed.
    { text: "A='1'\nnonsense", key: "A", is: "1" },
    { text: `${"# a comment\n".repeat(20_000)}A='far'`, key: "A", is: "far" },
    { text: `A='${"x".repeat(65_000)}'\nB='2'`, key: "B", is: "2" },
  ]
  test.each(rows)("is the value in the file: %#", async ({ text, key, is }) => {
    expect(await value(text, key)).toBe(is)
  })

  test("is the bytes in the file where they are not UTF-8", async () => {
    const raw = Uint8Array.of(0x61, 0xff, 0xfe, 0x80)
    const file = fileOf(Buffer.concat([Buffer.from("ü='ö'\nRAW='"), raw, Buffer.from("'\n")]))
    expect(await valueInEnvFile(file, "ü")).toBe("ö")
    expect(await valueInEnvFile(file, "RAW")).toEqual(Buffer.from(raw))
  })

  const faults = [
    { text: "nonsense", why: "at line 1: missing '='" },
    { text: "\n='1'", why: "at line 2: empty variable name" },
    { text: "A ='1'", why: "at line 1: whitespace before '=' is not allowed" },
    { text: "A=1", why: "at line 1: value must be enclosed in single quotes" },
    { text: "A='1' 2", why: "at line 1: unexpected content after closing quote" },
    { text: "\nA='1\n2", why: "starting at line 2: unclosed single quote" },
    { text: `A='${"x".repeat(65_536)}'`, why: "a line has 65536 bytes or more" },
    { text: `A='${"0123456789\n".repeat(13_000)}'`, why: "the value has more than 131072 bytes" },
    { text: "B='1'\n".repeat(200_000), why: "the file has more than 1048576 bytes" },
  ]
  test.each(faults)("is an error in a file of another format: $why", async ({ text, why }) => {
    await expect(value(text, "A")).rejects.toThrow(why)
  })

  test("is an error when the file is too large", async () => {
    // given 8 MB without a line's end, as a sparse file has it
    const sparse = fileOf(new Uint8Array(8 * 1024 * 1024))
    // when, then
    await expect(valueInEnvFile(sparse, "A")).rejects.toThrow("a line has 65536 bytes or more")
    expect(sparse.taken).toBe(64 * 1024)
  })
})
