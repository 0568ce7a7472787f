// Dumps of ONNX Runtime's RotaryEmbedding (com.microsoft, f32 cos and sin caches from f64 angles), for
// props/frameworks_test.c.
//
// usage: node onnx_dumps.js DIRECTORY
//
// Writes NAME_in.npy and NAME_out.npy for each case, and cases.tsv: name, positions, spec. The models
// are built here, byte by byte, in ONNX's protobuf format (onnx.proto3): there is nothing to download.
'use strict';
const fs = require('fs');
const path = require('path');
const ort = require('onnxruntime-node');

// ---- protobuf ----
function varint(value) {
  const bytes = [];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push((value % 128) | 128);
  bytes.push(value);
  return Buffer.from(bytes);
}
const number = (field, value) => Buffer.concat([varint(field * 8), varint(value)]);
function bytes(field, value) {
  const data = typeof value === 'string' ? Buffer.from(value) : value;
  return Buffer.concat([varint(field * 8 + 2), varint(data.length), data]);
}
const message = (field, ...parts) => bytes(field, Buffer.concat(parts));

const FLOAT = 1, INT64 = 7;
function valueInfo(field, name, type, shape) {
  const dimensions = shape.map((extent) => message(1, number(1, extent)));
  return message(field, bytes(1, name),
                 message(2, message(1, number(1, type), message(2, ...dimensions))));
}

// Rotates [1, heads, tokens, d]; positions [1, tokens]; caches [rows, d/2].
function model(heads, tokens, d, rows, interleaved) {
  const node = message(1, bytes(1, 'x'), bytes(1, 'positions'), bytes(1, 'cos'), bytes(1, 'sin'),
                       bytes(2, 'y'), bytes(4, 'RotaryEmbedding'),
                       message(5, bytes(1, 'interleaved'), number(3, interleaved), number(20, 2)),
                       bytes(7, 'com.microsoft'));
  const data = [1, heads, tokens, d];
  const graph = message(7, node, bytes(2, 'rope'), valueInfo(11, 'x', FLOAT, data),
                        valueInfo(11, 'positions', INT64, [1, tokens]),
                        valueInfo(11, 'cos', FLOAT, [rows, d / 2]),
                        valueInfo(11, 'sin', FLOAT, [rows, d / 2]), valueInfo(12, 'y', FLOAT, data));
  return Buffer.concat([number(1, 8), graph, message(8, bytes(1, ''), number(2, 17)),
                        message(8, bytes(1, 'com.microsoft'), number(2, 1))]);
}

// ---- .npy ----
function save(file, shape, data) {
  let header = `{'descr': '<f4', 'fortran_order': False, 'shape': (${shape.join(', ')}), }`;
  header = header.padEnd(117) + '\n';
  const prefix = Buffer.from([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, 118, 0]);
  fs.writeFileSync(file, Buffer.concat([prefix, Buffer.from(header),
                                        Buffer.from(data.buffer, data.byteOffset, data.byteLength)]));
}

let state = 1;
const uniform = () => (state = (state * 48271) % 2147483647) / 2147483647;

async function main(directory) {
  const positions = [0, 1, 2, 5, 100, 2047, 4099, 8191], rows = 8192, heads = 3;
  let cases = '';
  for (const d of [64, 96, 128])
    for (const interleaved of [0, 1]) {
      const tokens = positions.length;
      const x = Float32Array.from({length: heads * tokens * d}, () => 4 * uniform() - 2);
      const cos = new Float32Array(rows * d / 2), sin = new Float32Array(rows * d / 2);
      for (let p = 0; p < rows; p++)
        for (let i = 0; i < d / 2; i++) {
          const angle = p * Math.pow(10000, -2 * i / d);
          cos[p * d / 2 + i] = Math.cos(angle);
          sin[p * d / 2 + i] = Math.sin(angle);
        }
      const session = await ort.InferenceSession.create(model(heads, tokens, d, rows, interleaved));
      const result = await session.run({
        x: new ort.Tensor('float32', x, [1, heads, tokens, d]),
        positions: new ort.Tensor('int64', BigInt64Array.from(positions, BigInt), [1, tokens]),
        cos: new ort.Tensor('float32', cos, [rows, d / 2]),
        sin: new ort.Tensor('float32', sin, [rows, d / 2]),
      });
      const name = `onnxruntime-${d}-${interleaved ? 'interleaved' : 'half'}-f32`;
      save(path.join(directory, name + '_in.npy'), [1, heads, tokens, d], x);
      save(path.join(directory, name + '_out.npy'), [1, heads, tokens, d], result.y.data);
      cases += `${name}\t${positions.join(',')}\t` +
               `head_dim=${d},pairing=${interleaved ? 'interleaved' : 'half'},base=10000\n`;
    }
  fs.writeFileSync(path.join(directory, 'cases.tsv'), cases);
}

main(process.argv[2]).catch((error) => {
  console.error(String(error));
  process.exit(1);
});
