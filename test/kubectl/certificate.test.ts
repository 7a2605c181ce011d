import { afterAll, beforeAll, describe } from "bun:test"
import { startCluster, type Cluster } from "../../components/cluster/testing/testing.ts"
import recorded from "./certificate.recorded.json"
import { steps, type Step } from "./steps.fixtures.ts"

let c: Cluster
beforeAll(async () => {
  c = await startCluster({ nodes: 1 })
})
afterAll(() => c.stop())

/** Of a key that is kept nowhere: CN=bob. */
const REQUEST =
  "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlJQ1V6Q0NBVHNDQVFBd0RqRU1NQW9HQTFVRUF3d0RZbTlpTUlJQklqQU5CZ2txaGtpRzl3MEJBUUVGQUFPQwpBUThBTUlJQkNnS0NBUUVBOW85dUI2M01mVW0vS0ZRN2p3bHVab0FsN3pGem1EYVlyRkRtd2RnV1hqdlJ0d2wvClpQQlRuSlNUUGNWTVZoSUpRK2lVdlFVUUFtTTBoNmxOYjR2YlJOQXpLQXhKWG9WMjZIK1J4Uk5ENEtJc0RJbUwKNFE5RjYwdGMrNEVDOXRRYzMwNHBtNmhPOVV6eWR0MlZuNEhlbG1UcnlqZDhJcGh1YzIwTFVDUEwwYUd4YVFaTwpFOVJjaUMrUHcwRFhWZGI1SGhmc3daTlZLRThlVTNLOFpFMkU3dE82MTdrTExsODZKWWo4d3kyR1VGMHhhaGRpCkVRNW8xbFJ6YnFFYlJhVnJZcSsySVlmMXhBTmQwQTExWWtxenhySjVGWElYODE0OFBVVEVhYTgrSXdqNndWVDUKb093ZG4wTFM3VVV3QkxBWUplMXNha0FwQkhXL2piTDdYaVcxTHdJREFRQUJvQUF3RFFZSktvWklodmNOQVFFTApCUUFEZ2dFQkFDa3IxZzVEZWZMVTdMa0hOdGgrSVY2cDN0MFU4T1NqNWUvZy9RdVA5S25Bd3ZrNnNURExnQWxsCmNZYTRrR0hNT2t1UUhMOEhlaXlvcExHWVZjWTRaME5TWExhWlJmbmFsMkYxU25BOWhBZnIrTjk4dGorMkhNc20Kc01ZTy8vQ2xKbkJZcXFTTGFjK3QrczFTOFRDT2RETjBmZkZQWkVIUzA1Z1NzZjNDZnBxbnkrcVB0U04vQWFCUQppeEVwYmhHU0I2RXdQMkxmSE5KZDlzWUlBbjlxb3Y4UkZENFVFNWFDc1N1alAwR3JCS0NCM1hIb0V6MzdnTGVsClNKaDJaN25VcW1JbXkxRmRLM0tWLy9FcHlHdkhyT1ZoZXhIM00xZ1hrZkVWT3dRc25YNTcycU5uZ3Q1RUpORnoKajlUeTd2cExYbTR5dXl6czN6dDhrV0c1VFppZFFoND0KLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg=="

const manifest = (name: string): string => `apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {name: ${name}}
spec:
  request: ${REQUEST}
  signerName: example.com/s
  usages: [client auth]
`

const FILES = Object.fromEntries(["a", "b", "c", "d"].map((name) => [`csr-${name}.yaml`, manifest(name)]))

/** Command lines, one after another, with what kubectl 1.36.2 says and the code it ends with. */
const ROWS = recorded as unknown as readonly Step[]

describe("kubectl certificate", () => {
  steps("answers every command line as kubectl does", () => c, ROWS, FILES)
})
