//! Good files to spoil: text tables, Parquet files in the encodings there are, weights.

use arrow_array::builder::{Float64Builder, ListBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, DictionaryArray, Float32Array, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
    StructArray, TimestampMicrosecondArray,
};
use arrow_schema::{DataType, Field};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, GzipLevel, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterVersion};
use std::sync::Arc;

/// Text tables as they come.
pub(crate) fn csv() -> Vec<Vec<u8>> {
    let texts = [
        "x,y,name\n1,2,a\n3.5,-4e2,\"b, c\"\n,NA,\"d \"\"e\"\"\"\n1/4,nan,\"two\nlines\"\n",
        "# comment\nconc;rate\n0,02;76\n0,02;47\n\n1,10;207\n",
        "\u{feff}t\ty\r\n2024-01-01T00:00:00Z\t1\r\n2024-01-02 12:30:01.5+01:00\t2\r\n",
        "  a   b \n 1   2\n\"3\"  4\n",
        "v[0],v[1],\"m[0,0]\"\n1,2,\"1,234,567\"\n3,4,\"1.234,5\"\n",
        "x|y\n1|1'234.5\n#c\n-|null\n",
        "1,2\n3,4\n",
        ",x,\n0,1,\n1,2,\n,,\n",
    ];
    let mut all: Vec<Vec<u8>> = texts.iter().map(|t| t.as_bytes().to_vec()).collect();
    // An empty member in gzip's frame, and UTF-16.
    all.push(vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x4b, 0xe4, 0x32, 0xe4, 2, 0, 0x5e, 0x90, 0x4e, 0x41, 4, 0, 0, 0]);
    all.push("x\n1\n".encode_utf16().flat_map(|u| u.to_le_bytes()).collect());
    all
}

fn columns() -> RecordBatch {
    let count = 40;
    let numbers: Vec<f64> = (0..count).map(|i| f64::from(i) * 0.37 - 3.0).collect();
    let gaps = || (0..count).map(|i| (i % 5 != 2).then_some(f64::from(i)));
    let mut lists = ListBuilder::new(Float64Builder::new());
    for i in 0..count {
        (0..i % 4).for_each(|k| lists.values().append_value(f64::from(k)));
        lists.append(i % 7 != 3);
    }
    let words: Vec<Option<&str>> =
        (0..count).map(|i| (i % 6 != 1).then_some(["1.5", "two", "2024-01-01", "", "NA"][i as usize % 5])).collect();
    let parts: Vec<(Arc<Field>, ArrayRef)> = vec![
        (Arc::new(Field::new("a", DataType::Int32, true)), Arc::new((0..count).map(|i| (i % 3 != 0).then_some(i)).collect::<Int32Array>())),
        (
            Arc::new(Field::new("b", DataType::Boolean, true)),
            Arc::new((0..count).map(|i| (i % 4 != 0).then_some(i % 2 == 0)).collect::<BooleanArray>()),
        ),
    ];
    let all: Vec<(&str, ArrayRef)> = vec![
        ("x", Arc::new(Float64Array::from(numbers))),
        ("gaps", Arc::new(gaps().collect::<Float64Array>())),
        ("single", Arc::new(gaps().map(|x| x.map(|x| x as f32)).collect::<Float32Array>())),
        ("whole", Arc::new((0..count).map(|i| i64::from(i) * 1_000_003).collect::<Int64Array>())),
        ("day", Arc::new((0..count).map(|i| Some(19_000 + i)).collect::<Date32Array>())),
        (
            "when",
            Arc::new((0..count).map(|i| Some(i64::from(i) * 3_600_000_000)).collect::<TimestampMicrosecondArray>().with_timezone("UTC")),
        ),
        ("words", Arc::new(StringArray::from(words.clone()))),
        ("codes", Arc::new(words.into_iter().collect::<DictionaryArray<Int32Type>>())),
        ("list", Arc::new(lists.finish())),
        ("parts", Arc::new(StructArray::from(parts))),
    ];
    RecordBatch::try_from_iter_with_nullable(all.into_iter().map(|(n, c)| (n, c, true))).expect("columns of one length")
}

/// Parquet files: one for every pair of a way to encode and a way to pack, and small ones of one column.
pub(crate) fn parquet() -> Vec<Vec<u8>> {
    let batch = columns();
    let packed = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::ZSTD(ZstdLevel::default()),
        Compression::LZ4_RAW,
    ];
    let mut files = Vec::new();
    let mut write = |batch: &RecordBatch, properties: WriterProperties| {
        let mut bytes = Vec::new();
        let Ok(mut writer) = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)) else { return };
        if writer.write(batch).is_ok() && writer.close().is_ok() {
            files.push(bytes);
        }
    };
    for (k, compression) in packed.into_iter().enumerate() {
        for dictionary in [false, true] {
            let version = if k % 2 == 0 { WriterVersion::PARQUET_1_0 } else { WriterVersion::PARQUET_2_0 };
            let properties =
                WriterProperties::builder().set_compression(compression).set_dictionary_enabled(dictionary).set_writer_version(version);
            write(
                &batch,
                properties.set_max_row_group_row_count(Some(25)).set_data_page_row_count_limit(10).set_write_batch_size(5).build(),
            );
            for column in 0..batch.num_columns() {
                let one = batch.project(&[column]).expect("a column");
                let encoding = match column {
                    0 | 1 => Some(Encoding::BYTE_STREAM_SPLIT),
                    3 => Some(Encoding::DELTA_BINARY_PACKED),
                    6 => Some(Encoding::DELTA_BYTE_ARRAY),
                    _ => None,
                };
                let plain =
                    WriterProperties::builder().set_compression(compression).set_dictionary_enabled(dictionary).set_writer_version(version);
                let properties = match encoding {
                    Some(encoding) if !dictionary => plain.set_encoding(encoding),
                    _ => plain,
                };
                write(&one, properties.build());
            }
        }
    }
    files
}

/// A model with a net, and its weights.
pub(crate) const NET: &str = "(net f (x y) 3 1) (f a b)";

pub(crate) fn safetensors() -> Vec<Vec<u8>> {
    let program = neural_compiler::compile(NET, &Default::default()).expect("a program");
    let values =
        neural_compiler_fit::weights::needed(&program).into_iter().map(|(n, s)| (n, s, (0..s.len()).map(|i| i as f64).collect())).collect();
    vec![neural_compiler_fit::weights::to_bytes(&program, &values).expect("weights").expect("a net")]
}
