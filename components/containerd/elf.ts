/** Static executables for Linux from machine code. Formats: System V ABI, ELF-64. */

/** The names of processors that containers have; both are little-endian. */
export type Architecture = "amd64" | "arm64"

/** Returns the architecture of this machine, or of a `process.arch`; undefined for one that programs here lack. */
export const machineArchitecture = (arch: string = process.arch): Architecture | undefined =>
  arch === "x64" ? "amd64" : arch === "arm64" ? "arm64" : undefined

/** e_machine */
const MACHINES: Readonly<Record<Architecture, number>> = { amd64: 62, arm64: 183 }
const LOAD_ADDRESS = 0x40_0000
/** Where the scratch memory of a program begins; a program has less than a megabyte before it. */
export const SCRATCH_ADDRESS = 0x50_0000
const ELF_HEADER = 64
const PROGRAM_HEADER = 56
/** The largest page that arm64 has. */
const PAGE = 0x1_0000n

/** The address of a program's first byte. */
export const entryAddress = (scratch = 0): number => LOAD_ADDRESS + ELF_HEADER + PROGRAM_HEADER * segments(scratch)

const segments = (scratch: number): number => (scratch > 0 ? 2 : 1)

/** Returns an executable that starts at the first byte of `code`, with so many bytes of zeros that it may write to. */
export function executable(architecture: Architecture, code: Uint8Array, scratch = 0): Uint8Array {
  const headers = ELF_HEADER + PROGRAM_HEADER * segments(scratch)
  const size = headers + code.length
  const file = new Uint8Array(size)
  const view = new DataView(file.buffer)

  file.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]) // ELF, 64 bits, little-endian, version 1
  view.setUint16(16, 2, true) // e_type: executable
  view.setUint16(18, MACHINES[architecture], true)
  view.setUint32(20, 1, true) // e_version
  view.setBigUint64(24, BigInt(entryAddress(scratch)), true)
  view.setBigUint64(32, BigInt(ELF_HEADER), true) // e_phoff
  view.setUint16(52, ELF_HEADER, true) // e_ehsize
  view.setUint16(54, PROGRAM_HEADER, true) // e_phentsize
  view.setUint16(56, segments(scratch), true) // e_phnum

  const segment = (at: number, flags: number, address: number, inFile: number, inMemory: number) => {
    view.setUint32(at, 1, true) // p_type: load
    view.setUint32(at + 4, flags, true)
    view.setBigUint64(at + 16, BigInt(address), true) // p_vaddr
    view.setBigUint64(at + 24, BigInt(address), true) // p_paddr
    view.setBigUint64(at + 32, BigInt(inFile), true) // p_filesz
    view.setBigUint64(at + 40, BigInt(inMemory), true) // p_memsz
    view.setBigUint64(at + 48, PAGE, true) // p_align
  }
  segment(ELF_HEADER, READ | EXECUTE, LOAD_ADDRESS, size, size)
  if (scratch > 0) segment(ELF_HEADER + PROGRAM_HEADER, READ | WRITE, SCRATCH_ADDRESS, 0, scratch)

  file.set(code, headers)
  return file
}
const [EXECUTE, WRITE, READ] = [1, 2, 4]
